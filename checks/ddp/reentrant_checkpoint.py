"""Activation checkpointing runs in its reentrant form.

## What happens

`torch.utils.checkpoint` warns that `use_reentrant` should be passed explicitly, or that "None of the inputs have
requires_grad=True. Gradients will be None". Calls that this form cannot do fail: "Checkpointing is not compatible with
.grad()".

## Why

Without `use_reentrant` torch still takes the old form, which runs a backward pass inside the backward pass. It needs an
input that requires a gradient: behind a frozen embedding (LoRA) it has none, and the block learns nothing. DDP cannot
follow it where parameters are unused or used twice ("Expected to mark a variable ready only once", `ddp-ready-twice`).

The warning alone harms nothing. "None of the inputs" is harmless in evaluation, and a fault in training.

## How to tell

After one `backward()`, `[n for n, p in model.named_parameters() if p.requires_grad and p.grad is None]` is empty if all
parameters learn.

## See also

- [torch.utils.checkpoint](https://docs.pytorch.org/docs/stable/checkpoint.html): both forms compared
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting

FAILS = ("RuntimeError", ".grad()", "none of output")

check = Check(
    severity=Severity.NOTE,
    otherwise="an error for a call that it cannot do",
    symptoms=[
        r"torch\.utils\.checkpoint[\w.]*: please pass in use_reentrant=True or use_reentrant=False explicitly",
        r"torch\.utils\.checkpoint[\w.]*: the use_reentrant parameter should be passed explicitly",
        r"None of the inputs have requires_grad=True\. Gradients will be None",
        r"Checkpointing is not compatible with \.grad\(\)",
        r"use_reentrant=True, torch\.utils\.checkpoint is incompatible with \.grad\(\)",
        r"none of output has requires_grad=True, this checkpoint\(\) is not necessary",
    ],
    message="activation checkpointing runs in its reentrant form, which works badly with DDP and with frozen inputs",
    fixes=[
        Fix(
            "Take the other form, which torch recommends",
            "x = checkpoint(self.block, x, use_reentrant=False)",
            Kind.EDIT,
            proof="use_reentrant=False)",
        ),
        Fix(
            "transformers: the same through the Trainer's arguments",
            'TrainingArguments(..., gradient_checkpointing_kwargs={"use_reentrant": False})',
            Kind.EDIT,
        ),
        Fix(
            "transformers, where the embedding is frozen: let its output require a gradient",
            "model.enable_input_require_grads()",
            Kind.EDIT,
        ),
    ],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Separate the warnings from what fails."""
    if any(words in sighting.line for words in FAILS):
        yield check.found(
            "reentrant activation checkpointing cannot do this call",
            severity=Severity.ERROR,
        )
    elif "None of the inputs" in sighting.line:
        said = "no input of a checkpointed block requires a gradient: in training its parameters get none"
        yield check.found(said)
    else:
        yield check.found(check.message)
