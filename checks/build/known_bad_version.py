"""An installed release has a published fault that training meets.

## What happens

Nothing is wrong with the machine or with the script, and it hangs, runs out of memory or computes something wrong: with
exactly this release of torch, NCCL, cuDNN, accelerate or DeepSpeed, and not with the next one.

## Why

Releases have faults, and those that were found are written down in their projects. Only such are listed here:

| release | fault |
| --- | --- |
| NCCL 2.28.9 to 2.29.2 on an ARM processor (GH200, GB200) | hangs without a message; 2.29.3 repairs it |
| NCCL 2.13 to 2.16 with CUDA_LAUNCH_BLOCKING=1 | hangs as soon as the network is used |
| torch 2.7.0 with NCCL 2.26, `init_process_group(device_id=...)` | hangs now and then; worked around in 2.7.1 |
| torch 2.9.0, and 2.9.1 with cuDNN before 9.15 | conv3d in bfloat16 needs a multiple of the memory |
| torch before 2.9 with cuDNN 9.8 to 9.10 | conv3d in bfloat16 may give wrong results for large inputs |
| accelerate 1.13.0 | FSDP2 with mixed precision keeps the weights in bfloat16 |
| DeepSpeed 0.17.6 to 0.18.2 | ZeRO stage 2 without offload: of several accumulated batches only the last one's gradient is used, and nothing says so |
| DeepSpeed 0.18.6 to 0.18.10 | ZeRO stage 1, weights in bfloat16, gradients summed up in float32: ranks do not average the last accumulated batch |
| DeepSpeed 0.18.5 and 0.18.6 | ZeRO stage 2 is much slower than in 0.18.4 |

## How to tell

`python -c "import torch; print(torch.__version__, torch.cuda.nccl.version(), torch.backends.cudnn.version())"` prints
the versions that run, which need not be those that `pip list` shows. Whether the fault is yours: try the release after
it.

## See also

- [NCCL 2.29.3](https://github.com/NVIDIA/nccl/releases/tag/v2.29.3-1): the hang on ARM
- [marin 8038](https://github.com/marin-community/marin/pull/8038): NCCL 2.28.9 hangs on GB200, and a newer one does not
- [nccl 750](https://github.com/NVIDIA/nccl/issues/750): CUDA_LAUNCH_BLOCKING
- [pytorch 153960](https://github.com/pytorch/pytorch/issues/153960): device_id and torch 2.7.0
- [pytorch 166643](https://github.com/pytorch/pytorch/issues/166643): the memory of conv3d
- [cosmos-transfer2.5 227](https://github.com/nvidia-cosmos/cosmos-transfer2.5/pull/227): why torch 2.9.0 does not use a newer cuDNN
- [pytorch 163539](https://github.com/pytorch/pytorch/issues/163539): wrong results of conv3d
- [accelerate 3979](https://github.com/huggingface/accelerate/issues/3979): FSDP2 in bfloat16
- [DeepSpeed 7718](https://github.com/deepspeedai/DeepSpeed/issues/7718): gradients of ZeRO stage 2
- [DeepSpeed 7985](https://github.com/deepspeedai/DeepSpeed/pull/7985): the last batch of ZeRO stage 1
- [DeepSpeed 7885](https://github.com/deepspeedai/DeepSpeed/issues/7885): the speed of ZeRO stage 2
"""

from collections.abc import Iterator

from msgspec import Struct
from packaging.specifiers import SpecifierSet

from gpudoctor import CannotTell, Check, Finding, Fix, Severity
from gpudoctor.facts import Distributions, Host, Launch, Python, Torch, parsed_version


class Fault(Struct, frozen=True, kw_only=True):
    """A published fault."""

    versions: dict[str, str]
    """What it needs: ``torch``, ``NCCL``, ``cuDNN`` or a package by its name, and of which versions."""
    variable: str = ""
    """A launch variable that must be set for it, to anything but 0."""
    machine: str = ""
    """The kind of processor that must run it, as ``platform.machine()`` names it."""
    says: str
    source: str
    severity: Severity = Severity.NOTE
    """A note where only some trainings meet it: most machines with that release are well."""
    fixes: tuple[Fix, ...] = ()


FAULTS = (
    Fault(
        versions={"NCCL": ">=2.28.9,<2.29.3"},
        machine="aarch64",
        says="on ARM a collective may hang without a message, and 2.29.3 repairs that",
        source="https://github.com/NVIDIA/nccl/releases/tag/v2.29.3-1",
        severity=Severity.WARNING,
    ),
    Fault(
        versions={"NCCL": ">=2.13,<2.17"},
        variable="CUDA_LAUNCH_BLOCKING",
        says="with CUDA_LAUNCH_BLOCKING=1 it hangs as soon as the network is used",
        source="https://github.com/NVIDIA/nccl/issues/750",
        severity=Severity.WARNING,
        fixes=(Fix("Leave the variable out", "unset CUDA_LAUNCH_BLOCKING"),),
    ),
    Fault(
        versions={"torch": "==2.7.0", "NCCL": "==2.26.*"},
        says="a process group that is made with device_id=... hangs now and then; 2.7.1 works around that",
        source="https://github.com/pytorch/pytorch/issues/153960",
        fixes=(
            Fix("Or keep it, and do without non-blocking mode", "export TORCH_NCCL_USE_COMM_NONBLOCKING=0"),
        ),
    ),
    Fault(
        versions={"torch": "==2.9.0"},
        says="conv3d in bfloat16 needs a multiple of the memory, whatever the cuDNN is",
        source="https://github.com/pytorch/pytorch/issues/166643",
    ),
    Fault(
        versions={"torch": "==2.9.1", "cuDNN": "<9.15"},
        says="conv3d in bfloat16 needs a multiple of the memory",
        source="https://github.com/pytorch/pytorch/issues/166643",
        fixes=(
            Fix(
                "Or take a newer cuDNN alone (under a torch for CUDA 13: nvidia-cudnn-cu13)",
                'python -m pip install --upgrade "nvidia-cudnn-cu12>=9.15"',
                source="https://github.com/pytorch/pytorch/issues/166643",
            ),
        ),
    ),
    Fault(
        versions={"torch": "<2.9", "cuDNN": ">=9.8,<9.11"},
        says="conv3d in bfloat16 may give wrong results for large inputs",
        source="https://github.com/pytorch/pytorch/issues/163539",
    ),
    Fault(
        versions={"accelerate": "==1.13.0"},
        says="under FSDP2 with mixed precision the weights stay in bfloat16 and are not made float32",
        source="https://github.com/huggingface/accelerate/issues/3979",
    ),
    Fault(
        versions={"deepspeed": ">=0.17.6,<0.18.3"},
        # Read in its source: each batch but the last overwrites all_grad_tensors (stage_1_and_2.py). Nothing fails.
        says="ZeRO stage 2 without offload uses the gradient of the last accumulated batch alone, and nothing says so",
        source="https://github.com/deepspeedai/DeepSpeed/issues/7718",
        severity=Severity.WARNING,
    ),
    Fault(
        versions={"deepspeed": ">=0.18.6,<0.18.11"},
        says="under ZeRO stage 1 with weights in bfloat16 and gradients that are summed up in float32, the last accumulated "
        "batch is left out of the ranks' average",
        source="https://github.com/deepspeedai/DeepSpeed/pull/7985",
    ),
    Fault(
        versions={"deepspeed": ">=0.18.5,<0.18.7"},
        says="ZeRO stage 2 is much slower than with 0.18.4",
        source="https://github.com/deepspeedai/DeepSpeed/issues/7885",
    ),
)
PACKAGES = ("accelerate", "deepspeed")

check = Check(
    severity=Severity.WARNING,
    otherwise="a note where only some trainings meet the fault",
    fixes=[Fix("Take the release after it", "python -m pip install --upgrade torch torchvision")],
    no_reproduction="needs a GPU, and a release that has the fault",
)


@check.environment
def environment(
    torch: Torch,
    launch: Launch | None,
    python: Python | None,
    distributions: Distributions | None,
    host: Host | None,
) -> Iterator[Finding]:
    """What runs has a published fault."""
    if torch.cuda is None and torch.imported:
        return
    here = {"torch": torch.version, "NCCL": torch.nccl, "cuDNN": torch.cudnn}
    if not any(here.values()):
        raise CannotTell("the versions of torch, NCCL and cuDNN are not known")
    for name in PACKAGES:
        package = distributions.get(name) if distributions else None
        here[name] = package.version if package else None
    variables = launch.variables if launch else {}
    for fault in FAULTS:
        if fault.variable and variables.get(fault.variable, "0") in ("", "0"):
            continue
        if fault.machine and (host is None or host.machine != fault.machine):
            continue
        if all(_within(here[name], versions) for name, versions in fault.versions.items()):
            names = " with ".join(f"{name} {here[name]}" for name in fault.versions)
            wanted = " ".join(name for name in PACKAGES if name in fault.versions) or "torch torchvision"
            newer = Fix(
                "Take a later release",
                (python or Python()).install_command(f"--upgrade {wanted}", distributions),
            )
            yield check.found(
                f"{names} has a published fault: {fault.says} ({fault.source})",
                severity=fault.severity,
                fixes=[newer, *fault.fixes],
            )


def _within(version: str | None, versions: str) -> bool:
    known = parsed_version(version.partition("+")[0] if version else None)
    return known is not None and not known.is_prerelease and SpecifierSet(versions).contains(known)
