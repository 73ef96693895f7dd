"""The checkpoint holds numbers that are NaN or infinite.

## What happens

The file loads without an error. With NaN in a weight or in a running mean every output is NaN; with infinity some are,
or the loss becomes NaN a few steps later. `gpudoctor checkpoint inspect FILE --values` names the tensors.

## Why

- The training had diverged before it was saved: the loss was NaN already, or float16 overflowed.
- It is on purpose: a causal mask, or a "best value so far" of an early stopping, is made of infinity. Then nothing is wrong.

## How to tell

A name such as `mask`, `bias` of an attention that is no parameter, or `best` is on purpose. A `weight`, a `running_mean`
or an optimizer's `exp_avg` never is. Look whether an older checkpoint has finite numbers in the same place.

## See also

- [torch.isfinite](https://docs.pytorch.org/docs/stable/generated/torch.isfinite.html): True for each number that is neither NaN nor infinite
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, count
from gpudoctor.facts import CheckpointValues

check = Check(
    severity=Severity.NOTE,
    fixes=[
        Fix("If it is a weight: go on from the last checkpoint before it", "ls -lt FOLDER"),
        Fix(
            "Do not save what is not finite",
            "if all(torch.isfinite(p).all() for p in model.parameters()):\n"
            '    torch.save(model.state_dict(), "model.pt")',
            Kind.EDIT,
        ),
    ],
    no_reproduction="the file loads without an error",
)


@check.checkpoint
def checkpoint(values: CheckpointValues) -> Iterator[Finding]:
    """Tensors with NaN or infinity; a note, for a mask is made of infinity."""
    if values.nonfinite:
        tensors = len(values.nonfinite)
        hold = "holds" if tensors == 1 else "hold"
        yield check.found(
            f"{count(tensors, 'tensor')} {hold} NaN or infinite numbers",
            evidence=[f"{name}: {count(numbers, 'number')}" for name, numbers in values.nonfinite[:5]],
        )
