"""The fabric manager is down, or is not of the driver's version.

## What happens

CUDA says "Error 802: system not yet initialized" (`CUDA_ERROR_SYSTEM_NOT_READY`), while `nvidia-smi` lists every GPU.
The service's own log has "fabric manager NVIDIA GPU driver interface version … don't match with driver version …"; or
`systemctl` shows nvidia-fabricmanager as failed or not installed. After that torch finds no GPU.

## Why

HGX and DGX systems (A100, H100, H200, B200 as SXM) join GPUs by NVSwitch. CUDA waits for the fabric manager to set
it up, and that must be of exactly the driver's version: an upgrade of the driver alone breaks it. It takes a minute or
two after boot. On B200 it needs NVIDIA's NVLink subnet manager (NVLSM) too. In a container or virtual machine it runs
on the host. A missing switch is a fault of the hardware.

## How to tell

`systemctl status nvidia-fabricmanager`, `tail /var/log/fabricmanager.log`, `nvidia-smi -q | grep -A3 -m1 Fabric`.
A single PCIe GPU needs no fabric manager: error 802 there means that confidential computing is not ready, or a kernel
fault that CUDA's release notes name.

## See also

- [Fabric manager](https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html): how to install, start and watch the service
- [pytorch 35710](https://github.com/pytorch/pytorch/issues/35710): error 802, as torch shows it
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Evidence, Finding, Fix, Kind, Severity, Symptom, joined
from gpudoctor.facts import Cuda, Fabric, Gpus, Pci, Torch
from gpudoctor.wordings import CUDA_START

SYSTEM_NOT_READY = 802
# What the service says where there is no NVSwitch to manage; on B200 it misses its subnet manager then.
NOTHING_TO_DO = r"NV_WARN_NOTHING_TO_DO"
WORDS = ("system not yet initialized", "Error 802", "SYSTEM_NOT_READY")

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"\bsystem not yet initialized|System not yet initialized",
        r"CUDA_ERROR_SYSTEM_NOT_READY|cudaErrorSystemNotReady",
        r"cudaGet\w{4,30} returned 802\b|CUDA [Ee]rror:? 802\b",
        rf"{CUDA_START}802\b",
        r"\[802\] Call to cuInit results in",  # numba
        # as people put it
        r"\bCUDA\b.{0,60}\b802\b.{0,12}\berror\b|\bCUDA\b.{0,60}\berror\b.{0,12}\b802\b",
        (
            r"[Ff]abric manager NVIDIA GPU driver interface version (?P<manager>[\d.]*\d) don't match with driver version "
            r"(?P<driver>[\d.]*\d)"
        ),
        Symptom(
            r"nvidia-fabricmanager\.service: (?:Control process exited|Failed with result|Main process exited)",
            unless=NOTHING_TO_DO,
        ),
        Symptom(
            r"Failed to start (?:nvidia-fabricmanager|NVIDIA fabric manager|FabricManager)",
            unless=NOTHING_TO_DO,
        ),
        Symptom(r"× nvidia-fabricmanager\.service - ", unless=NOTHING_TO_DO),
        Symptom(
            r"\bnvidia-fabricmanager\.service - ",
            near=r"nvidia-fabricmanager\.service - [^\n]*\n(?:[^\n]*\n){0,2}\s*Active: failed",
            unless=NOTHING_TO_DO,
        ),
        Symptom(r"Job for nvidia-fabricmanager(?:\.service)? failed\b", unless=NOTHING_TO_DO),
        r"Unit nvidia-fabricmanager(?:\.service)? (?:could not be found|not found)",
        Symptom(r"nv-fabricmanager.{0,120}failed! Exit code: [1-9]", unless=NOTHING_TO_DO),
        r"number of NVSwitches don't match with any supported system topology",
        r"DCGM_FR_(?:CUDA_FM_NOT_INITIALIZED|FABRIC_MANAGER_TRAINING_ERROR)",
    ],
    message="CUDA waits for the fabric manager[, which is of version <manager> while the driver is <driver>]: no GPU of "
    "this NVSwitch system can be used",
    fixes=[
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and the line above",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "Install the fabric manager of the loaded driver's own version (here for 580) and start it",
            'sudo apt install "nvidia-fabricmanager-580=$(cat /sys/module/nvidia/version)-*" && '
            "sudo systemctl enable --now nvidia-fabricmanager",
            Kind.ADMIN,
        ),
        Fix(
            "Start it again, wait two minutes, and read what it says",
            "sudo systemctl restart nvidia-fabricmanager; sleep 120; tail -n 20 /var/log/fabricmanager.log",
            Kind.ADMIN,
        ),
        Fix(
            "On B200: install the NVLink subnet manager too",
            "sudo apt install nvlsm && sudo systemctl restart nvidia-fabricmanager",
            Kind.ADMIN,
        ),
        Fix(
            "Hold both packages, so that an upgrade takes them together or not at all",
            "sudo apt-mark hold nvidia-driver-580-server nvidia-fabricmanager-580",
            Kind.ADMIN,
        ),
        Fix(
            "In a container or virtual machine: the host must run it, and activate the partition",
            kind=Kind.ADMIN,
        ),
    ],
    no_reproduction="needs an NVSwitch system without its fabric manager",
)


@check.environment
def environment(
    gpus: Gpus | None, pci: Pci | None, cuda: Cuda | None, torch: Torch | None, fabric: Fabric | None
) -> Iterator[Finding]:
    """CUDA waits, or no GPU of a board has joined its fabric."""
    if gpus is None and cuda is None and torch is None:
        raise CannotTell("neither NVML nor CUDA nor torch could be asked")
    waits = gpus is not None and gpus.fabric_waits
    said = _said(cuda, torch)
    if gpus is not None and gpus.confidential and gpus.confidential_ready is False:
        return  # what CUDA waits for is gpu-confidential-mode
    if not waits and _is_card(gpus, pci):
        return
    if not waits and said is None:
        joined_it = gpus is not None and any(gpu.fabric_state == "completed" for gpu in gpus.devices)
        if not joined_it and (cuda is None or cuda.init is None):
            # torch in a block of fields may be that of another container, and a table shows every GPU all the same
            raise CannotTell("the CUDA driver was not asked, and the GPUs' fabric state tells nothing")
        return
    evidence = [Evidence(said, "CUDA")] if said else []
    states = {gpu.fabric_state for gpu in gpus.devices if gpu.fabric_state} if gpus else set()
    if waits:
        told = joined(sorted(state.replace("_", " ") for state in states))
        evidence.append(Evidence(f"fabric state of every GPU: {told}", "NVML"))
    if fabric is not None and fabric.manager is False:
        here = "is installed and does not run" if fabric.manager_installed else "is not installed"
        evidence.append(Evidence(f"nv-fabricmanager {here}"))
    if fabric is not None and fabric.manager_said:
        evidence.append(Evidence(fabric.manager_said, "/var/log/fabricmanager.log"))
    what = (
        f"CUDA cannot start ({SYSTEM_NOT_READY}, system not yet initialized)"
        if said
        else "no GPU of this board has joined the NVLink fabric"
    )
    why = "the fabric manager has not set up the NVSwitches"
    message = f"{what}: {why}, and until it has, no GPU can be used"
    yield check.found(message, evidence=evidence)


def _said(cuda: Cuda | None, torch: Torch | None) -> str | None:
    """Return in which words CUDA says that the system is not ready; ``None``: it does not."""
    if cuda is not None and cuda.init is not None:
        return "cuInit: 802, system not yet initialized" if cuda.init == SYSTEM_NOT_READY else None
    if torch is None or torch.cuda_available:
        return None
    texts = [torch.cuda_error.message if torch.cuda_error else "", *torch.warnings]
    return next((text[:300] for text in texts if any(words in text for words in WORDS)), None)


def _is_card(gpus: Gpus | None, pci: Pci | None) -> bool:
    """Return whether these are cards without NVLink: what they wait for is not a fabric manager."""
    if gpus is None or not gpus.devices or (pci is not None and pci.switches):
        return False
    return not any(gpu.board or gpu.nvlinks or gpu.nvlinks_active is not None for gpu in gpus.devices)
