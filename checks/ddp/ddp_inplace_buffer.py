"""DDP overwrote a buffer between a forward pass and its backward pass.

## What happens

Under DDP alone, with two calls of the model before `backward()`: "one of the variables needed for gradient computation
has been modified by an inplace operation: [torch.cuda.FloatTensor [64]] is at version 3; expected version 2 instead".
The tensor is small (`[64]`), or one of integers (`LongTensor [1, 512]`), and the message names no operation: no
"which is output 0 of …".

## Why

Before each forward pass, DDP copies rank 0's buffers over those of the other ranks, in place. A second forward pass
so changes what the first has saved for its backward pass:

- The running statistics of BatchNorm, called for real and fake images, for two views, or for student and teacher.
- Position ids and masks that a text encoder registers as buffers.

torch 2.15 copies in a way that autograd does not count as a change; the two forward passes then both go backward.

## How to tell

The same script runs with one process and no DDP, or with `broadcast_buffers=False`. Search
`{n: b.shape for n, b in model.named_buffers()}` for the size in the message.

`gpudoctor lint train.py` finds two forward passes of a model with BatchNorm before one `backward()`.

## See also

- [torch issue 22095](https://github.com/pytorch/pytorch/issues/22095): a buffer and two forward passes
- [torch issue 175024](https://github.com/pytorch/pytorch/issues/175024): a discriminator called twice, and why it fails
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Call, Script, batch_norm
from gpudoctor.wordings import DDP

# As in inplace-gradient, which takes the other cases. What an operation computed is "which is output 0 of"; weights of
# convolutions have four sizes; integers and what is smaller is a buffer.
CHANGED = (
    r"one of the variables needed for gradient computation has been modified by an inplace operation"
    r"(?:: \[(?=[\w.]*(?:Long|Int|Bool|Byte)|[\w.]+ \[(?:\d+(?:, ?\d+){0,2})?\])"
    r"(?P<type>[\w.]+) (?P<size>\[[\d, ]*\])\] is at version (?P<version>\d+); expected version (?P<expected>\d+)"
    r"|(?!: \[))"
)

check = Check(
    severity=Severity.ERROR,
    otherwise="in a script a warning: torch 2.15 takes it",
    symptoms=[
        rf"\[(?:[Rr]ank ?|default|worker)\d+\]:?.{{0,120}}{CHANGED}",
        Symptom(CHANGED, near=DDP),
    ],
    message="between forward and backward DDP copied rank 0's buffers over[ a <type> of size <size>][: version "
    "<version>, where backward expects <expected>]",
    fixes=[
        Fix(
            "Make one forward pass of the two",
            "both = model(torch.cat([real, fake]))\nreal_score, fake_score = both.chunk(2)",
            Kind.EDIT,
        ),
        Fix(
            "Do not copy buffers in each forward pass, where the ranks need not agree on them "
            "(with torch 2.15: forward_sync_buffers=False)",
            "DistributedDataParallel(model, device_ids=[local_rank], broadcast_buffers=False)",
            Kind.EDIT,
        ),
        Fix(
            "Let the ranks compute BatchNorm's statistics together, then there is nothing to copy",
            "model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)\n"
            "model = DistributedDataParallel(model, device_ids=[local_rank], broadcast_buffers=False)",
            Kind.EDIT,
        ),
        Fix("Use a copy of the buffer in forward", "ids = self.position_ids[:, :length].clone()", Kind.EDIT),
    ],
    no_reproduction="needs an older torch",
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """Two forward passes of a model with BatchNorm, and one backward pass after both."""
    if any("sync_batchnorm" in call.method.lower() for call in script.calls):
        return
    for wrapper in script.of_kind("ddp"):
        made = script.made_by(wrapper)
        inner = script.innermost(wrapper)
        if (
            made is None
            or made.starred
            or made.given("broadcast_buffers")
            or made.given("forward_sync_buffers")
        ):
            continue
        if inner is wrapper or batch_norm(script, inner) is None:
            continue
        second = pair(script, wrapper.number)
        if second is not None:
            yield check.found(
                "a second forward pass before backward: DDP copies BatchNorm's buffers over what the first one has saved",
                severity=Severity.WARNING,
                location=second.place,
            )


def pair(script: Script, wrapper: int) -> Call | None:
    """Return the second of two forward passes that a backward pass follows, all in one pass of a loop."""
    before: Call | None = None
    second: Call | None = None
    for call in script.calls:
        if call.method in ("__call__", "forward") and wrapper in call.receiver.things:
            if any("no_grad" in context or "inference" in context for context in call.contexts):
                continue
            together = before is not None and (before.loops, before.conditions) == (
                call.loops,
                call.conditions,
            )
            second = call if together else None
            before = call
        elif call.method == "backward":
            if second is not None and second.loops == call.loops:
                return second
            before = second = None
        elif call.name == "<loop>":
            before = second = None
    return None
