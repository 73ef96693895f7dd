"""An operation in place changed what the backward pass still needs.

## What happens

"one of the variables needed for gradient computation has been modified by an inplace operation:
[torch.FloatTensor [3]], which is output 0 of ExpBackward0, is at version 1; expected version 0 instead". Related: "a leaf
Variable that requires grad is being used in an in-place operation", "Output 0 of SplitBackward0 is a view and is being
modified inplace".

## Why

Autograd keeps values of the forward pass for the backward pass, and counts the changes of each. One was changed by:

- `x += y`, `x[:, 0] = …`, `relu_()` or `ReLU(inplace=True)` on a value whose operation needs its own output.
- `optimizer.step()` before another loss that used the same weights has gone backward, in a GAN or with two losses.
- A weight written to without `torch.no_grad()`, or a piece of `split`, `chunk` or `unbind` changed in place.

It fails on one GPU too. Under DDP alone, with a tensor that no operation computed, it is `ddp-inplace-buffer`.

## How to tell

The sizes and the operation in the message name the value. With `torch.autograd.set_detect_anomaly(True)` a second
traceback shows the line of the forward pass that computed with it; what changed it comes after that line.

## See also

- [Autograd: in-place operations](https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd): why they are found only in the backward pass
- [detect_anomaly](https://docs.pytorch.org/docs/stable/autograd.html#torch.autograd.detect_anomaly): shows the forward line that the failing gradient belongs to
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom
from gpudoctor.wordings import DDP

# As in ddp-inplace-buffer, which takes what may be a buffer where DDP is near.
HEAD = (
    r"one of the variables needed for gradient computation has been modified by an in-?place(?: operation|$)"
)
INTEGER = r"[\w.]*(?:Long|Int|Bool|Byte)"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        rf"{HEAD}: \[[\w.]+ (?P<size>\[[\d, ]*\])\], which is output \d+ of (?P<operation>\w+)",
        rf"{HEAD}: \[(?!{INTEGER})[\w.]+ (?P<size>\[\d+(?:, ?\d+){{3,}}\])\] is at version",
        Symptom(
            rf"^(?!.{{0,200}}\[(?:[Rr]ank ?|default|worker)\d+\]).{{0,400}}{HEAD}"
            rf"(?:: \[(?={INTEGER}|[\w.]+ \[(?:\d+(?:, ?\d+){{0,2}})?\])[\w.]+ (?P<size>\[[\d, ]*\])\] is at version|(?!: \[))",
            unless=DDP,
        ),
        r"a (?P<leaf>(?:view of a )?leaf) Variable that requires grad (?:is being|has been) used in an in-place operation",
        r"(?P<leaf>leaf) variable has been moved into the graph interior",
        # a replica's BroadcastBackward is DataParallel's; until torch 1.8 some of these were warnings
        (
            r"Output \d+ of (?P<operation>(?!Broadcast)\w+) is a view and "
            r"(?:is being|its base or another view of its base has been) modified inplace(?!.{0,200} deprecated)"
        ),
    ],
    message="an operation in place changed a value[ of size <size>][ (the output of <operation>)][ (a <leaf>)] that the "
    "backward pass still needs",
    fixes=[
        Fix(
            "A <leaf> is a parameter, or a part of one: change it outside of the graph",
            "with torch.no_grad():\n    model.fc.weight.mul_(0.5)",
            Kind.EDIT,
        ),
        Fix(
            "Make a new value instead of changing the old one",
            "x = x + y  # not x += y\nact = torch.nn.ReLU(inplace=False)",
            Kind.EDIT,
            proof="x = x +",
        ),
        Fix(
            "GAN: compute each loss after the other's step, the discriminator's on samples without their graph",
            "loss_d = criterion(D(real), ones) + criterion(D(fake.detach()), zeros)\noptimizer_d.zero_grad()\n"
            "loss_d.backward()\noptimizer_d.step()\nloss_g = criterion(D(fake), ones)\noptimizer_g.zero_grad()\n"
            "loss_g.backward()\noptimizer_g.step()",
            Kind.EDIT,
        ),
        Fix(
            "Two losses of one model: go backward through their sum, then take one step",
            "(loss_a + loss_b).backward()\noptimizer.step()",
            Kind.EDIT,
        ),
        Fix(
            "Find the line: a slow run that remembers each operation's traceback",
            "torch.autograd.set_detect_anomaly(True)",
            Kind.EDIT,
        ),
    ],
)
