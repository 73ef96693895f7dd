"""The averaged gradient is computed and thrown away.

## What happens

Nothing fails. `param.grad.data / world_size` as a line of its own computes the average and drops it; the step uses the sum, which is as
many times too large as there are ranks.

## Why

`/` makes a new tensor. In place it is `/=` or `div_`.

## How to tell

Compare the gradient before and after the line: it is the same.

## See also

- [torch.Tensor.div_](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.div_.html): the in-place division
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Script

check = Check(
    severity=Severity.ERROR,
    fixes=[Fix("Divide in place", "parameter.grad /= dist.get_world_size()", Kind.EDIT)],
    no_reproduction="not written yet",
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A quotient with a gradient in it that is a statement of its own."""
    for call in script.named("<discarded>"):
        if "grad" in call.text and "/" in call.text:
            yield check.found(
                f"{call.text} computes the average and keeps it nowhere: the gradient stays the sum",
                location=call.place,
            )
