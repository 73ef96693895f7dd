"""Pages of the GPU's memory were retired, or wait to be.

## What happens

`nvidia-smi -q -d PAGE_RETIREMENT` shows "Pending Page Blacklist: Yes", or counts under "Single Bit ECC" and "Double Bit
ECC". The kernel log has Xid 63 with "Dynamic Page Retirement". Jobs ended with an ECC error before.

## Why

GPUs before Ampere (V100, T4, P100) have no spare rows: a page with a failing cell is retired, at the next load of the
driver. At most 64 pages can be. A few over the years are normal; many, or some every week, mean that the memory fails.

## How to tell

`nvidia-smi -q -d PAGE_RETIREMENT -i GPU` shows counts and what is pending. Look again after a week of work.

## See also

- [Dynamic page retirement](https://docs.nvidia.com/deploy/dynamic-page-retirement/visibility.html): Xids, NVML and nvidia-smi
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Gpus, Pci

FULL, MANY = 60, 10
"""Pages: 64 can be retired, and NVIDIA exchanges a card near that; Meta's health checks take it out of use beyond 10."""

LEAVE_OUT = Fix(
    "On a cluster: leave this node out, and send the administrators its name and these counts",
    "sbatch --exclude=NODE job.sh",
)

check = Check(
    severity=Severity.WARNING,
    otherwise="an error where no more pages can be retired",
    fixes=[
        LEAVE_OUT,
        Fix(
            "Retire what is pending, with nothing running on the GPU",
            "sudo nvidia-smi --gpu-reset -i GPU",
            Kind.ADMIN,
        ),
        Fix("Have the card exchanged if the count grows", kind=Kind.ADMIN),
    ],
    no_reproduction="needs a GPU that fails",
)


@check.environment
def environment(gpus: Gpus, pci: Pci | None) -> Iterator[Finding]:
    """Pages wait to be retired, or many were."""
    if gpus.silence(pci):
        raise CannotTell(gpus.silence(pci))
    many = [gpu for gpu in gpus.read if (gpu.retired_pages or 0) > MANY]
    waiting = [gpu for gpu in gpus.read if gpu.retired_pages_pending]
    if many:
        most = max(gpu.retired_pages or 0 for gpu in many)
        said = [f"{gpu.short}: {gpu.retired_pages} retired pages" for gpu in many]
        full = most >= FULL
        why = (
            "there is room for 64: the next failing page stays in use"
            if full
            else "where the count grows, the memory is failing"
        )
        exchange = "Have the card exchanged" if full else "Have the card exchanged if the count grows"
        fixes = [LEAVE_OUT, Fix(exchange, "nvidia-smi -q -d PAGE_RETIREMENT", Kind.ADMIN)]
        if rest := gpus.without(many):
            fixes.insert(0, Fix("Until then, go on without", f"export CUDA_VISIBLE_DEVICES={rest}"))
        message = f"{gpus.named(many)}: {most} pages of memory were taken out of use; {why}"
        yield check.found(message, severity=Severity.ERROR if full else None, evidence=said, fixes=fixes)
    elif waiting:
        reset = f"sudo nvidia-smi --gpu-reset -i {gpus.numbers(waiting)}"
        message = f"{gpus.named(waiting)}: a failing page of memory is still in use until the driver is loaded again"
        fixes = [
            LEAVE_OUT,
            Fix("Reset it, with nothing running there", reset, Kind.ADMIN),
            Fix("Or reboot", "sudo reboot", Kind.ADMIN),
        ]
        yield check.found(message, fixes=fixes)
