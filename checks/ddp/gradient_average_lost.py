"""The averaged gradient is computed and thrown away.

## What happens

Nothing fails. `param.grad.data / world_size` as a line of its own computes the average and drops it; the step uses the sum, which is as
many times too large as there are ranks.

## Why

`/` makes a new tensor. In place it is `/=` or `div_`.

## How to tell

Compare the gradient before and after the line: it is the same.

Or have the script check it: give every rank the same sample: `assert torch.equal(averaged, own), "the gradients are a sum over the ranks, not their mean"`.
`gpudoctor explain` recognises that message in a log.

## See also

- [torch.Tensor.div_](https://docs.pytorch.org/docs/stable/generated/torch.Tensor.div_.html): the in-place division
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Script

check = Check(
    severity=Severity.ERROR,
    symptoms=[r"gradients are a sum over the ranks"],
    message="the gradients are a sum over the ranks, not their mean: the step is as many times too long as there are ranks",
    fixes=[
        Fix(
            "Divide in place",
            "parameter.grad /= dist.get_world_size()",
            Kind.EDIT,
            proof="parameter.grad /= dist.get_world_size()",
        )
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A quotient with a gradient in it that is a statement of its own."""
    lost = [c for c in script.named("<discarded>") if "grad" in c.text and "/" in c.text]
    for method in ("div", "divide", "true_divide"):  # each has its twin that changes the tensor: div_
        lost += [c for c in script.methods(method) if not c.used and GRADIENT.search(c.text)]
    for call in sorted(lost, key=lambda call: call.number):
        yield check.found(
            f"{call.text} computes the average and keeps it nowhere: the gradient stays the sum",
            location=call.place,
        )


GRADIENT = re.compile(r"\.grad(?:\.data)?\.\w+$")
