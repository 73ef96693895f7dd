"""The driver has found memory of the GPU that cannot be repaired.

## What happens

NVML's flag for unrepairable memory is set. Jobs on the GPU end with an ECC error, or with wrong numbers in the worst
case.

## Why

What the GPU has to repair its memory with (spare rows, spare channels) does not reach for what is broken. There is no
setting that helps: the card must be exchanged.

## How to tell

`nvidia-smi -q -d ECC,ROW_REMAPPER -i GPU` shows the errors that led to it; `sudo dcgmi diag -r 3 -i GPU` tests it.

## See also

- [GPU memory error management](https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html): row remapping, error containment, when to return a card
- [Supported GPUs](https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/supported-gpus.html): which GPUs can repair what
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Gpus, Pci

check = Check(
    severity=Severity.ERROR,
    fixes=[
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and this line",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix("Have the card exchanged", "sudo nvidia-bug-report.sh", Kind.ADMIN),
    ],
    no_reproduction="needs a GPU that fails",
)


@check.environment
def environment(gpus: Gpus, pci: Pci | None) -> Iterator[Finding]:
    """NVML's flag for unrepairable memory is set."""
    if gpus.silence(pci):
        raise CannotTell(gpus.silence(pci))
    broken = [gpu for gpu in gpus.read if gpu.memory_unrepairable]
    if not broken:
        return
    fixes = list(check.fixes)
    if rest := gpus.without(broken):
        fixes.insert(0, Fix("Go on without it", f"export CUDA_VISIBLE_DEVICES={rest}"))
    yield check.found(
        f"{gpus.named(broken)}: memory that cannot be repaired; results computed there cannot be trusted",
        fixes=fixes,
    )
