"""The GPUs are written into the script by number.

## What happens

With `nn.DataParallel(model, [0, 1])` the script fails on a machine, or under a `CUDA_VISIBLE_DEVICES`, that has fewer GPUs, and uses no
more than these where there are more. With `DistributedDataParallel(model, device_ids=[0])` every rank works on GPU 0.

## Why

Device ordinals count what the process sees. Each rank runs the same script, so a number that is written out is the same on all of them.

## How to tell

`python -c "import torch; print(torch.cuda.device_count())"` on the machine where it runs. For ranks, `nvidia-smi` shows several
processes on GPU 0 and none elsewhere.

## See also

- [DataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html): `device_ids`, all devices where it is left out
- [DistributedDataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html): `device_ids`, one device of this process
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Call, Known, Script

OWN = Fix(
    "Give each rank its own GPU",
    'local_rank = int(os.environ["LOCAL_RANK"])\ntorch.cuda.set_device(local_rank)\n'
    "model = DistributedDataParallel(model.cuda(), device_ids=[local_rank])",
    Kind.EDIT,
)
BATCH = Fix(
    "Move the batch to the rank's own GPU",
    "batch = batch.to(local_rank)",
    Kind.EDIT,
    source="https://docs.pytorch.org/docs/stable/notes/cuda.html",
)
ALL = Fix(
    "Leave the numbers out: DataParallel takes all GPUs that are visible",
    "model = torch.nn.DataParallel(model)",
    Kind.EDIT,
)

check = Check(
    severity=Severity.WARNING,
    otherwise="a note for DataParallel, which may be meant for these",
    fixes=[OWN, ALL],
    no_reproduction="needs a GPU",
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """Device ids that are numbers in the source."""
    chosen = any(
        call.name == "os.environ.__setitem__" and call.value("key").literal == "CUDA_VISIBLE_DEVICES"
        for call in script.calls
    )
    for call in script.named(*WRAPPERS_WITH_IDS):
        given = call.arguments.get("device_ids")
        ids = [item.literal for item in given.value.items] if given is not None else []
        if given is None or given.value.known is not Known.SEQUENCE or given.value.text or not ids:
            continue
        if not all(type(number) is int for number in ids) or not re.search(r"\d", given.text):
            continue  # a name whose value is a number here may have another one elsewhere
        if not call.name.endswith("DistributedDataParallel"):
            yield check.found(
                f"device_ids={given.text}: these GPUs and no others, and it fails where a process sees fewer",
                severity=Severity.NOTE,
                location=call.place,
                fixes=[ALL],
            )
        elif len(ids) == 1 and not chosen:
            yield check.found(
                f"device_ids={given.text} is the same on every rank: all of them work on GPU {ids[0]}",
                location=call.place,
                fixes=[OWN],
            )
    moved = None if chosen else _moved_to_one(script)
    if moved is not None:
        index = moved.value("device").index
        yield check.found(
            f"every rank moves its batch to GPU {index.literal if index is not None else 0}, which is written out, and its "
            "model is on the rank's own GPU: all of them fill the memory of that one",
            location=moved.place,
            fixes=[BATCH],
        )


def _moved_to_one(script: Script) -> Call | None:
    """Return where a step of training moves what a loader gave to a GPU by number, beside a model on the rank's own.

    Where the loss is computed with such a tensor, device-mismatch tells of it.
    """
    own = [made for t in script.of_kind("ddp") if (made := script.made_by(t)) and _of_rank(made)]
    steps = {call.loops[-1] for call in script.methods("backward") if call.loops} if own else set()
    moves = [
        call
        for method in ("to", "cuda")
        for call in script.methods(method)
        if call.receiver.from_data and call.loops and call.loops[-1] in steps and _by_number(call)
    ]
    moves = [call for call in moves if call.reached and not any(call.excluded(made) for made in own)]
    numbers = {call.number for call in moves}
    for call in script.calls if moves else ():
        compared = (
            call.method.endswith(("loss", "entropy")) or script.thing(call.receiver, "loss") is not None
        )
        if compared and any(argument.value.made in numbers for argument in call.arguments.values()):
            return None
    return moves[0] if moves else None


def _by_number(call: Call) -> bool:
    """Return whether a tensor goes to a GPU whose number is written out."""
    index = call.value("device").index
    return index is not None and index.is_literal and type(index.literal) is int and not call.receiver.things


def _of_rank(made: Call) -> bool:
    """Return whether a wrapper is told the rank's own GPU, in a program that comes there."""
    ids = made.value("device_ids")
    return made.reached and ids.known is Known.SEQUENCE and any(item.by_rank for item in ids.items)


WRAPPERS_WITH_IDS = (
    "torch.nn.DataParallel",
    "torch.nn.parallel.data_parallel",
    "torch.nn.parallel.DistributedDataParallel",
)
