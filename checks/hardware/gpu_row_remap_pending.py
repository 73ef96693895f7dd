"""A failing row of the GPU's memory is exchanged at the next reset.

## What happens

`nvidia-smi -q -d ROW_REMAPPER` shows "Pending: Yes"; the kernel log has Xid 63, "Row Remapper: New row marked for
remapping". Training goes on; an uncorrectable memory error (`gpu-ecc-error`) may have ended a job before.

## Why

The GPU has spare rows for memory cells that fail, and puts one in the place of a failing row when it is reset. Until
then the failing part is kept out of use where the driver can do so. A GPU that is not reset for weeks collects more.

## How to tell

`nvidia-smi -q -d ROW_REMAPPER -i GPU` before and after the reset: "Pending" becomes "No" and the count of remapped rows
grows.

## See also

- [GPU memory error management](https://docs.nvidia.com/deploy/a100-gpu-mem-error-mgmt/index.html): row remapping, error containment, when to return a card
- [nvidia-smi](https://docs.nvidia.com/deploy/nvidia-smi/index.html): Remapped Rows
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Gpus, Pci

check = Check(
    severity=Severity.WARNING,
    fixes=[
        Fix("Go on; ask the administrators to reset it at the next pause"),
        Fix("Reset it, with nothing running on it", "sudo nvidia-smi --gpu-reset -i GPU", Kind.ADMIN),
    ],
    no_reproduction="needs a GPU that fails",
)


@check.environment
def environment(gpus: Gpus, pci: Pci | None) -> Iterator[Finding]:
    """NVML says that a row waits to be remapped."""
    if gpus.silence(pci):
        raise CannotTell(gpus.silence(pci))
    waiting = [gpu for gpu in gpus.read if gpu.remapped_rows and gpu.remapped_rows.pending]
    if not waiting:
        return
    message = f"{gpus.named(waiting)}: a failing row of memory waits for the next reset to be exchanged"
    reset = Fix(
        "Reset at the next pause, with nothing running there; where NVSwitch connects the GPUs, leave out -i and reset all",
        f"sudo nvidia-smi --gpu-reset -i {gpus.numbers(waiting)}",
        Kind.ADMIN,
    )
    fixes = [reset]
    if rest := gpus.without(waiting):
        fixes.insert(0, Fix("Until then, go on without", f"export CUDA_VISIBLE_DEVICES={rest}"))
    yield check.found(message, fixes=fixes)
