"""A softmax was called without dim, and chooses the dimension itself.

## What happens

"UserWarning: Implicit dimension choice for softmax has been deprecated. Change the call to include dim=X as an
argument." Training goes on.

## Why

`F.softmax(x)` and `nn.Softmax()` take dimension 0 of tensors with 0, 1 or 3 dimensions, and dimension 1 of all others.
For a batch of sequences that is the batch: the probabilities then depend on the other samples, and change with the
batch that each GPU gets. Results with one GPU and with several differ.

## How to tell

The warning names the line that calls it. `x.sum(dim=-1)` of the result is 1 everywhere if the last dimension was taken.
`PYTHONWARNINGS="error:Implicit dimension choice" torchrun --nproc-per-node=N train.py` stops at the first such call, and the
traceback shows where it came from.

`gpudoctor lint train.py` finds each such call without running it.

## See also

- [softmax](https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.softmax.html): `dim`, the dimension along which the numbers sum to 1
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Script

check = Check(
    severity=Severity.NOTE,
    symptoms=[r"Implicit dimension choice for (?P<function>\w+) has been deprecated"],
    message="<function> was called without dim; with 3-dimensional input it runs over the batch, which every GPU has another part of",
    fixes=[
        Fix("Name the dimension of the classes", "probabilities = F.softmax(logits, dim=-1)", Kind.EDIT),
        Fix("The same in a module", "nn.Softmax(dim=-1)", Kind.EDIT, proof="nn.Softmax(dim=-1)"),
    ],
)
FUNCTIONS = tuple(f"torch.nn.functional.{name}" for name in ("softmax", "log_softmax", "softmin"))
MODULES = ("torch.nn.Softmax", "torch.nn.LogSoftmax", "torch.nn.Softmin")


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A softmax that is not told its dimension."""
    for call in script.named(*FUNCTIONS, *MODULES):
        if not call.given("dim"):
            yield check.found(
                f"{call.text}() is called without dim: it takes dimension 1, or 0 where the input has 0, 1 or 3 dimensions, and "
                "that may be the batch",
                location=call.place,
            )
