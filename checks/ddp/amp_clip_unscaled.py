"""Gradients are clipped while they are still scaled.

## What happens

Nothing fails. The gradients are larger by the scaler's factor, 65536 at first, so clipping to a norm of 1 makes them far too small.
With SGD the model hardly learns. Adam and AdamW divide by the size of the gradients and hide it, as long as those are well above their
`eps`; but every gradient is clipped to one length then, whatever it was.

## Why

`GradScaler` multiplies the loss, and with it all gradients. `scaler.step` divides them again, but that comes after the clipping.

## How to tell

Print what `clip_grad_norm_` returns: tens of thousands, where a few units are usual; with `scaler.get_scale()` as the factor.

Or have the script check it, with SGD and as a limit a tenth of what a step without the scaler moves a weight: `assert moved > 0.1, "gradients were clipped while they were scaled"`.
`gpudoctor explain` recognises that message in a log.

## See also

- [Automatic Mixed Precision examples](https://docs.pytorch.org/docs/stable/notes/amp_examples.html): gradient clipping, with `scaler.unscale_`
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Call, Script

check = Check(
    severity=Severity.WARNING,
    symptoms=[r"gradients were clipped while they were scaled"],
    message="gradients were clipped while they were scaled: after the division nearly nothing is left of them",
    fixes=[
        Fix(
            "Unscale first",
            "scaler.unscale_(optimizer)\ntorch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\nscaler.step(optimizer)",
            Kind.EDIT,
            proof="scaler.unscale_(optimizer)",
        ),
    ],
)


SCALED = re.compile(r"amp|scaler|fp16|precision|half", re.I)
"""What a test names that tells training with scaled gradients from the other."""


def _together(script: Script, clipping: Call, step: Call) -> bool:
    """Return whether a step surely comes with a clipping: under its tests, or under one that a scaled backward is in too.

    ``if amp: scaler.scale(loss).backward()``, then the gradients are clipped, and ``if amp: scaler.step(optimizer)``.
    """
    if clipping.conditions[: len(step.conditions)] == step.conditions:
        return True
    beyond = [c for c in step.conditions if c not in clipping.conditions]
    rest = {(c.text, c.negated) for c in beyond if not c.negated or SCALED.search(c.text)}
    return any(
        scaled.number < clipping.number
        and scaled.loops == step.loops
        and rest <= {(c.text, c.negated) for c in scaled.conditions}
        for scaled in script.methods("scale", "scaler")
    )


def _beside(clipping: Call, step: Call) -> bool:
    """Return whether both stand in the same loops, but for one over the groups of parameters that are clipped."""
    inside = clipping.loops[len(step.loops) :]
    return clipping.loops[: len(step.loops)] == step.loops and all(loop.kind == "for" for loop in inside)


def _clips(script: Script) -> Iterator[Call]:
    """Yield what clips gradients: torch's functions, and such as are called so and are not seen here."""
    own = {signature.name.rpartition(".")[2] for signature in script.signatures}
    for call in script.calls:
        if call.name in CLIPPING:
            yield call
        elif CALLED_SO.search(call.method) and call.method not in own and not call.receiver.things:
            given = (argument.text for argument in call.arguments.values())
            if any("parameters()" in text for text in given):
                yield call


CLIPPING = ("torch.nn.utils.clip_grad_norm_", "torch.nn.utils.clip_grad_value_")
CALLED_SO = re.compile(r"clip_?grad|clip.*_grad|grad\w*_clip", re.I)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """Clipping between a scaled backward pass and the scaler's step, without unscale_."""
    if not any(True for _ in script.of_kind("scaler")) or script.frameworks:
        return
    unscaled = list(script.methods("unscale_"))
    said = set()
    for call in _clips(script):
        if not all(other.scope == call.scope and other.number > call.number for other in unscaled):
            continue
        steps = [c for c in script.methods("step", "scaler") if _beside(call, c) and c.number > call.number]
        steps = [c for c in steps if _together(script, call, c)]
        scaled = any(
            not any(SCALED.search(test.text) for test in call.conditions[len(step.conditions) :])
            for step in steps
        )
        if scaled and call.scope not in said:
            said.add(call.scope)
            yield check.found(
                "gradients are clipped here before the GradScaler has unscaled them: they are thousands of times too large",
                location=call.place,
            )
