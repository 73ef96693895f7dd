"""A failing row of the GPU memory could not be exchanged, or no spare row is left.

## What happens

`nvidia-smi -q -d ROW_REMAPPER` shows "Remapping Failure Occurred: Yes", or banks under "None" in the histogram of spare
rows. Jobs end with "uncorrectable ECC error encountered", again and again on the same GPU.

## Why

Each bank of the memory has a few spare rows. They are used up, so the next cell that fails there stays in use. A failed
remapping is NVIDIA's own condition for exchanging a card.

## How to tell

`nvidia-smi -q -d ROW_REMAPPER -i GPU` shows the flag and how many banks have spare rows left. `sudo dcgmi diag -r 3`
tests the memory. The flag stays: a reset does not take it away.

## See also

- [GPU memory error management](https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html): row remapping, error containment, when to return a card
- [nvidia-smi](https://docs.nvidia.com/deploy/nvidia-smi/index.html): Remapped Rows
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, count
from gpudoctor.facts import Gpu, Gpus, Pci

MANY = 512
"""Rows remapped for uncorrectable errors, of which NVIDIA's DCGM and Azure's health checks fail a GPU beyond."""

LEAVE_OUT = Fix(
    "On a cluster: leave this node out, and send the administrators its name and these counts",
    "sbatch --exclude=NODE job.sh",
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where no spare row is left in a bank, a note where few are",
    fixes=[
        LEAVE_OUT,
        Fix("Test it, and have the card exchanged", "sudo dcgmi diag -r 3 -i GPU", Kind.ADMIN),
    ],
    no_reproduction="needs a GPU that fails",
)


@check.environment
def environment(gpus: Gpus, pci: Pci | None) -> Iterator[Finding]:
    """A remapping has failed; or there are banks without a spare row, or very many remapped rows."""
    if gpus.silence(pci):
        raise CannotTell(gpus.silence(pci))
    reasons = {gpu.index: _reason(gpu) for gpu in gpus.read}
    worn = [gpu for gpu in gpus.read if reasons[gpu.index]]
    low = [
        gpu
        for gpu in gpus.read
        if not reasons[gpu.index] and gpu.remapped_rows and gpu.remapped_rows.banks_low
    ]
    if low:
        yield _few(gpus, low)
    if worn:
        failed = [gpu for gpu in worn if gpu.remapped_rows and gpu.remapped_rows.failed]
        some = failed or worn
        what = reasons[some[0].index]
        said = [f"{gpu.short}: {reasons[gpu.index]}" for gpu in worn]
        message = f"{gpus.named(some)}: {what}"
        grave = failed or any(gpu.remapped_rows and gpu.remapped_rows.uncorrectable > MANY for gpu in worn)
        severity = Severity.ERROR if grave else Severity.WARNING
        fixes = [
            LEAVE_OUT,
            Fix(
                "Test it, and have the card exchanged",
                f"sudo dcgmi diag -r 3 -i {gpus.numbers(some)}",
                Kind.ADMIN,
            ),
        ]
        if rest := gpus.without(some):
            fixes.insert(0, Fix("Go on without it", f"export CUDA_VISIBLE_DEVICES={rest}"))
        yield check.found(message, severity=severity, evidence=said, fixes=fixes)


def _few(gpus: Gpus, low: list[Gpu]) -> Finding:
    """Say where spare rows run out: nothing fails yet."""
    banks = {
        gpu.index: count((gpu.remapped_rows and gpu.remapped_rows.banks_low) or 0, "bank") for gpu in low
    }
    few = f"{gpus.named(low)}: few spare rows are left in {' and '.join(dict.fromkeys(banks.values()))} of memory"
    return check.found(
        f"{few}; nothing fails yet, and the next failing rows there cannot be exchanged",
        severity=Severity.NOTE,
        evidence=[f"GPU {index}: {text} with few spare rows" for index, text in banks.items()],
        fixes=[Fix("Watch it", f"nvidia-smi -q -d ROW_REMAPPER -i {gpus.numbers(low)}")],
    )


def _reason(gpu: Gpu) -> str:
    """Say what is wrong with the spare rows of a GPU; empty: nothing."""
    rows = gpu.remapped_rows
    if rows is None:
        return ""
    if rows.failed:
        return "a failing row of memory could not be exchanged and stays in use"
    if rows.banks_none:
        return f"{count(rows.banks_none, 'bank')} of memory with no spare row left: the next row that fails there stays in use"
    if rows.uncorrectable > MANY:
        return f"{rows.uncorrectable} rows of memory were exchanged because of errors: it is failing"
    return ""
