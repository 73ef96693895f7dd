"""A batch is too small to give every DataParallel replica a piece.

## What happens

"TypeError: forward() missing 1 required positional argument: 'x'" under "in replica 3 on device 3": in one of the last
replicas and never in replica 0, mostly at the last batch of an epoch or in validation. Or "The number of modules 4 is
not equal to the number of inputs 3". A BatchNorm in a replica says "Expected more than 1 value per channel when
training", because its piece is a single sample.

## Why

DataParallel cuts the batch with `torch.chunk` into pieces of ceil(batch / GPUs). 9 samples on 4 GPUs make 3 pieces of
3, 9 samples on 8 GPUs make 5 pieces, the last with 1. Replicas without a piece run where a keyword argument is not a
tensor, and they get no input.

## How to tell

Compare the batch of this step with the number of GPUs: `print(x.shape, torch.cuda.device_count())`. If the same error
comes in replica 0 too, the arguments of `forward` are wrong, and the batch has nothing to do with it.

`gpudoctor lint train.py` finds loaders with batches smaller than the number of GPUs.

## See also

- [DataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html): how it cuts a batch
- [pytorch#16432](https://github.com/pytorch/pytorch/issues/16432): fewer samples than GPUs, with keyword arguments
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Call, Known, Script, Thing
from gpudoctor.wordings import A_FRAME

LATER = r"in replica (?P<replica>[1-9]\d*) on device (?P<device>\d+)"
FIRST = r"in replica 0 on device \d+"
WHOLE_BATCHES = Fix(
    "Leave out the last, smaller batch, and make the batch a multiple of the number of GPUs",
    "DataLoader(dataset, batch_size=8 * torch.cuda.device_count(), drop_last=True)",
    Kind.EDIT,
)
BARE_MODEL = Fix(
    "Validate with the bare model on one GPU, which takes any batch",
    "model.module(x)",
    Kind.EDIT,
    proof="model.module(x",
)
POSITIONAL = Fix(
    "Pass tensors only: keyword arguments of another kind go to every replica",
    "model(x, mask)  # was: model(x, mask=mask, names=names)",
    Kind.EDIT,
)

check = Check(
    severity=Severity.ERROR,
    otherwise="in a script a warning, and a note where only the last batch may be too small, or nothing is trained",
    symptoms=[
        Symptom(
            r"forward\(\) missing \d+ required positional argument",
            near=rf"{LATER}|in parallel_apply\b",
            unless=FIRST,
        ),
        Symptom(r"IndexError: (?:list|tuple) index out of range", near=LATER, unless=FIRST),
        # batchnorm-single-sample leaves this line to DataParallel where a replica is named
        Symptom(
            r"Expected more than 1 (?P<what>value per channel|spatial element) when training",
            near=r"in replica (?P<replica>\d+) on device (?P<device>\d+)",
        ),
        r"The number of modules (?P<replicas>\d+) is not equal to the number of inputs (?P<pieces>\d+)",
        r"a batch of \d+ gives (?P<pieces>\d+) of (?P<replicas>\d+) devices a piece",  # of gpudoctor's training modes
        Symptom(r"AssertionError:? *$", near=r"assert len\(modules\) == len\(inputs\)"),
        Symptom(
            r"chunk expects at least a 1-dimensional tensor",
            near=r"in scatter|self\.scatter\(|in replica \d+ on device \d+",
        ),
        Symptom(r"chunk expects at least a 1-dimensional tensor", unless=A_FRAME),  # the line alone
    ],
    message="the batch gave[ replica <replica>] too small a piece or none[: <pieces> for <replicas> replicas]",
    fixes=[
        WHOLE_BATCHES,
        BARE_MODEL,
        POSITIONAL,
        Fix(
            "One process per GPU, here 2, with DistributedDataParallel: every rank has a batch of its own",
            "torchrun --standalone --nproc-per-node=2 train.py",
        ),
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A loader whose batches are smaller than the number of GPUs; an argument that goes whole to each of them."""
    yield from keywords(script)
    counts = [
        len(ids.items)
        for call in script.named("torch.nn.DataParallel")
        if (ids := call.value("device_ids")).known is Known.SEQUENCE and not ids.text
    ]
    whole = any(_all_gpus(call) for call in script.named("torch.nn.DataParallel"))
    if not counts and not whole:
        return
    for call in script.named("torch.utils.data.DataLoader"):
        size = call.value("batch_size")
        batch = size.literal if size.is_literal else None
        if not call.given("batch_size") and not call.given("batch_sampler"):
            batch = 1
        loader = script.thing(call.result, "loader")
        if not counts and (loader is None or not call.given("batch_size") or not _trains(script, loader)):
            continue
        if type(batch) is int and 0 < batch < min(counts, default=2):
            validates = loader is not None and batch == 1 and _validates(script, loader)
            yield check.found(
                f"batches of {batch} are cut into pieces for {min(counts) if counts else 'all'} GPUs: some GPUs get none",
                severity=Severity.NOTE if validates else Severity.WARNING,
                location=call.place,
            )


def _all_gpus(call: Call) -> bool:
    """Return whether a DataParallel takes all GPUs that there are: it is told none, or as many as are counted."""
    ids = call.value("device_ids")
    return not call.starred and ("device_ids" not in call.arguments or ids.known is Known.INDEX)


def _trains(script: Script, loader: Thing) -> bool:
    """Return whether a DataParallel is trained in a loop over a loader."""
    loops = [begun.loops[-1] for begun in script.iterations(loader)]
    forwards = [c for c in script.named("torch.nn.DataParallel.__call__") if c.loops and c.loops[-1] in loops]
    return any(
        c.method == "backward" and c.loops[-1:] == f.loops[-1:] for f in forwards for c in script.calls
    )


def _validates(script: Script, loader: Thing) -> bool:
    """Return whether a loader is gone through where nothing is trained, as for one image at a time."""
    if loader.escapes:
        return False
    loops = [begun.loops[-1] for begun in script.iterations(loader)]
    trained = [call for call in script.calls if call.method in ("backward", "step")]
    return bool(loops) and not any(loop in call.loops for loop in loops for call in trained)


def keywords(script: Script) -> Iterator[Finding]:
    """Report arguments of a DataParallel that are no tensors: GPUs that get no piece of the batch run all the same."""
    for call in script.named("torch.nn.DataParallel.__call__"):
        for name, argument in call.arguments.items():
            if not name.isdigit() and argument.value.is_literal and not argument.value.is_none:
                yield check.found(
                    f"{name}={argument.text} goes to every GPU, also to those that get no piece of a small batch: there forward "
                    "misses its input",
                    severity=Severity.NOTE,
                    location=call.place,
                    fixes=[POSITIONAL, WHOLE_BATCHES],
                )
                break
