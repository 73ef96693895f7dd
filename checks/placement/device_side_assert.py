"""A kernel found a value that it cannot compute with.

## What happens

"CUDA error: device-side assert triggered" (59 or 710 in old versions), and before it one line per thread of the kernel:
"Loss.cu:250: nll_loss_forward…: block: [0,0,0], thread: [3,0,0] Assertion `t >= 0 && t < n_classes` failed." On the CPU
the message is plain: "IndexError: Target 10 is out of bounds.", "Class values must be smaller than num_classes.".

## Why

The assertion names the value:

- `t >= 0 && t < n_classes`: a class label outside of 0 … classes - 1: an ignore value such as 255 or -1, labels that
  count from 1, or a last layer with too few outputs.
- `input_val >= zero && input_val <= one`: BCELoss without a sigmoid before it, or NaN.
- `probability tensor contains either inf, nan or element < 0`: sampling from logits that overflowed in half precision.
- An assertion about an index is `embedding-index`.

## How to tell

The GPU works ahead of Python, so the traceback may point at a later line that is not at fault. `CUDA_LAUNCH_BLOCKING=1` makes it
point at the right one. The same batch on the CPU gives a plain message, such as "Target 10 is out of bounds".
Every CUDA, cuBLAS or NCCL error that follows in this process means nothing, and the process must be started again.

## See also

- [Asynchronous execution](https://docs.pytorch.org/docs/stable/notes/cuda.html#asynchronous-execution): CUDA_LAUNCH_BLOCKING=1 makes the trace true
- [pytorch#1204](https://github.com/pytorch/pytorch/issues/1204): labels out of range
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.wordings import ASSERTING_THREAD

ABOUT_INDEX = r".{0,160}?(?:[Ii]ndex|\bidx|\bind_dim)"
OTHER_CAUSE = rf"{ASSERTING_THREAD}{ABOUT_INDEX}"
REASONS = [
    (r"n_classes", "a class label lies outside of the classes"),
    (
        r"<= ?(?:one|1\.)|0 and 1",
        "a value for binary cross entropy lies outside of 0 to 1: a sigmoid is missing, or it is NaN",
    ),
    (
        r"probability|cumdist|isnan|input\[0\] != 0|val >= zero|ge\(val",
        "sampling got NaN, infinite or negative probabilities",
    ),
    (r"p\d? <= 1", "a Bernoulli probability lies outside of 0 to 1"),
    (r"Class values", "one_hot got a class that it was told does not exist"),
]

LABELS = Fix(
    "Check the labels of each batch, and name the one that is to be ignored",
    "assert 0 <= target.min() and target.max() < classes\nloss = F.cross_entropy(logits, target, ignore_index=255)",
    Kind.EDIT,
)
LOGITS = Fix(
    "Binary cross entropy on logits: no value can be out of range",
    "loss = F.binary_cross_entropy_with_logits(logits, target)",
    Kind.EDIT,
    proof="binary_cross_entropy_with_logits(logits, target)",
)
check = Check(
    severity=Severity.ERROR,
    symptoms=[
        rf"{ASSERTING_THREAD}[`'\"]?(?!{ABOUT_INDEX})(?P<assertion>.{{1,200}}?)[`'\"]? failed",
        Symptom(r"device-side assert triggered", unless=OTHER_CAUSE),
        Symptom(r"\bcudaErrorAssert\b|\bCUDA_ERROR_ASSERT\b", unless=OTHER_CAUSE),
        # the number alone, before CUDA 10.1 and since
        r"cuda runtime error \((?:59|710)\)(?! ?:)",
        # on the CPU, where the operation itself says it (aten/src/ATen/native/LossNLL.cpp, Onehot.cpp, Loss.cpp)
        r"IndexError: Target (?P<target>-?\d+) is out of bounds",
        r"Assertion [`']?(?P<class>cur_target >= 0 && cur_target < n_classes)'? failed",
        r"RuntimeError: (?P<class>Class values must be (?:smaller than num_classes|non-negative))",
        r"RuntimeError: (?P<between>all elements of (?:input|target) should be between 0 and 1)",
        # a kernel's, without the line that says which thread it was
        Symptom(
            rf"Assertion [`']?(?!{ABOUT_INDEX})(?P<assertion>(?:t|target_val|input_val|cur_target|label)\b.{{1,80}}?)[`']? failed",
            unless=r"thread: ?\[|\.c(?:pp)?:\d",
        ),
    ],
    follows=["embedding-index"],
    fixes=[
        Fix(
            "Let the traceback point at the operation",
            "export CUDA_LAUNCH_BLOCKING=1  # then start the training as before",
        ),
        LABELS,
        LOGITS,
        Fix(
            "Look for NaN before sampling; bfloat16 does not overflow where half does",
            "assert torch.isfinite(logits).all()\nmodel = model.to(torch.bfloat16)",
            Kind.EDIT,
        ),
    ],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say what the kernel's assertion means, also where it stands above the error."""
    groups = sighting.groups
    if groups.keys() & {"target", "class"}:
        said = f"the label {groups['target']}" if "target" in groups else "a class label"
        yield check.found(f"{said} lies outside of the classes that the model has", fixes=[LABELS])
        return
    if "between" in groups:
        yield check.found(f"{groups['between']}: a sigmoid is missing, or it is NaN", fixes=[LOGITS])
        return
    assertion = groups.get("assertion") or _above(sighting)
    if assertion is None:
        message = 'a kernel\'s assertion failed; which one stands in lines with "Assertion" above, or only on the CPU'
    else:
        reason = next((why for pattern, why in REASONS if re.search(pattern, assertion)), "")
        message = f'"{assertion}" does not hold' if "Assertion" in sighting.around else f'"{assertion}"'
        message += f": {reason}" if reason else ""
    yield check.found(message)


def _above(sighting: Sighting) -> str | None:
    """Return the assertion that the kernel's own lines quote near the error."""
    above = re.search(rf"{ASSERTING_THREAD}[`'\"]?(.{{1,200}}?)[`'\"]? failed", sighting.around)
    return above[1] if above else None
