"""Confidential computing is on in a mode for one GPU, or its GPUs are not ready.

## What happens

In a confidential virtual machine with more than one GPU, peer access, NVLink and NCCL fail or hang, while one GPU alone
works. `nvidia-smi conf-compute -f` says that confidential computing is on. Or CUDA does not start at all, with
"system not yet initialized" (802), though no fabric manager is needed or it runs.

## Why

On Hopper, confidential computing is made for one GPU in a virtual machine. Several GPUs of an HGX board need the
protected PCIe mode (PPCIe), in which the NVSwitches belong to that machine too; Blackwell encrypts NVLink (NVLE) instead.
NVIDIA calls other combinations undefined.

After every boot the GPUs take no work until somebody has attested them and set them ready.

## How to tell

`nvidia-smi conf-compute -mgm` shows the mode for several GPUs, `nvidia-smi conf-compute -grs` whether they are ready.

## See also

- [Release notes of R550 TRD3](https://docs.nvidia.com/confidential-computing/release-notes/r550-trd3): one GPU for each virtual machine
- [Supported platforms](https://docs.nvidia.com/confidential-computing/containers/supported-platforms): several GPUs of a Hopper board need ppcie mode
- [nvtrust 56](https://github.com/NVIDIA/nvtrust/issues/56): CUDA programs failed until `nvidia-smi conf-compute -srs 1` set the ready state
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Gpus, Launch, Pci

READY = Fix(
    "Attest the GPUs, then set them ready, after every boot",
    "sudo nvidia-smi conf-compute -srs 1",
    Kind.ADMIN,
)

check = Check(
    severity=Severity.ERROR,
    fixes=[
        Fix("Train on one GPU of this virtual machine", "export CUDA_VISIBLE_DEVICES=0"),
        Fix(
            "Have the node set to its mode for several GPUs (Kubernetes, Hopper)",
            "kubectl label node NODE nvidia.com/cc.mode=ppcie --overwrite",
            Kind.ADMIN,
        ),
        READY,
    ],
    no_reproduction="needs a GPU in a confidential virtual machine",
)


@check.environment
def environment(gpus: Gpus, launch: Launch | None, pci: Pci | None) -> Iterator[Finding]:
    """Confidential computing is on, and the GPUs are not ready, or several are used without a mode for that."""
    if gpus.silence(pci):
        raise CannotTell(gpus.silence(pci))
    if gpus.confidential and gpus.confidential_ready is False:
        message = "confidential computing is on, and the GPUs were not set ready: they take no work, and CUDA does not start"
        yield check.found(message, fixes=[READY])
        return
    used = gpus.chosen(launch.variables.get("CUDA_VISIBLE_DEVICES") if launch else None)
    if not gpus.confidential or len(used) < 2:
        return
    if gpus.confidential_multi_gpu is None:
        raise CannotTell("confidential computing is on, and NVML does not tell its mode for several GPUs")
    if gpus.confidential_multi_gpu == "none":
        message = f"confidential computing is on without a mode for several GPUs, and {len(used)} are here: no peer access"
        yield check.found(message)
