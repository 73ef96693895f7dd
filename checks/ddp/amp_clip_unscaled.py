"""Gradients are clipped while they are still multiplied by the loss scale.

## What happens

Nothing is raised. The model learns slowly or not at all: gradients are clipped to a norm of 1 while they are 65536 times too
large, and after the scaler has divided them nearly nothing is left.

## Why

`scaler.scale(loss).backward()` makes scaled gradients. `scaler.step` divides them by the scale, after the clipping. Only
`scaler.unscale_(optimizer)` before it makes the threshold mean what it says.

## How to tell

Print the norm that `clip_grad_norm_` returns: tens of thousands where ones are expected. Or watch how far a weight moves in a
step: `assert moved > 0.1, "gradients were clipped while they were scaled"`. gpudoctor knows these words in a log.

## See also

- [Gradient clipping with a scaler](https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-clipping): unscale first
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[r"gradients were clipped while they were scaled"],
    message="gradients were clipped while they were scaled: after the division nearly nothing is left of them",
    fixes=[
        Fix(
            "Unscale, then clip",
            "scaler.scale(loss).backward()\nscaler.unscale_(optimizer)\ntorch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\nscaler.step(optimizer)\nscaler.update()",
            Kind.EDIT,
        ),
    ],
)
