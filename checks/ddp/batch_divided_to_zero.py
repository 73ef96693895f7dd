"""The batch size, divided over the ranks, is 0 or no whole number.

## What happens

"ValueError: batch_size should be a positive integer value, but got batch_size=0" from the DataLoader, or
"batch_size=16.0". YOLO's trainings refuse it themselves: "batch-size 64 not multiple of GPU count 3". With one process
the same script runs.

## Why

- `batch_size // world_size` is 0 where there are more ranks than samples in the batch: a batch size of 4 on 8 GPUs.
- `batch_size / world_size` is a float, 16.0, even where nothing is left over; the DataLoader takes integers alone.
- It was divided twice, by the script and by a library, or by the GPUs of a node and then by all ranks.

## How to tell

`print(batch_size, world_size)` before the DataLoader. With DistributedDataParallel each rank has a DataLoader of its own:
its `batch_size` is that of one rank, and all ranks together see `batch_size * world_size` samples in a step.

## See also

- [DataLoader](https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader): `batch_size` is what one process loads at a time
- [DistributedDataParallel](https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html): each
  process with a part of the batch
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting
from gpudoctor.facts import Known, Script

MULTIPLE = Fix(
    "Give a batch size that all ranks can share evenly: here 24 each",
    "torchrun --nproc-per-node=2 train.py --batch-size 48",
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a note for a script",
    symptoms=[
        r"batch_size should be a positive integ\w{2,4} value, but got batch_size ?= ?(?P<size>0|\d{1,9}\.\d{1,20})(?![\w.])",
        r"\bbatch(?:-size |=)(?P<batch>\d{1,9})'? (?:not|must be) (?:a )?multiple of (?P<of>GPU count \d{1,5}|WORLD_SIZE)",  # YOLO
        # accelerate, Megatron-LM
        r"\bbatch[ _]size \((?P<batch>\d{1,9})\) (?:needs to|must|should) be a (?:round )?multiple of (?P<of>the number of (?:processes|ranks|GPUs) \(\d{1,6}\))",
        r"global batch size \((?P<batch>\d{1,9})\) is not divisible by (?P<of>micro[ -]batch[ -]size \(\d{1,9}\) times ?data parallel size \(\d{1,9}\))",
        r"[Gg]lobal[ _]batch[ _]size \(?(?P<batch>\d+)\)? (?:is not|should be|must be) divisible by (?P<of>[\w ()*-]{1,120})",  # Megatron, NeMo
    ],
    fixes=[
        Fix(
            "Divide into whole numbers, and never below 1",
            "loader = DataLoader(dataset, batch_size=max(1, batch_size // dist.get_world_size()), sampler=sampler)",
            Kind.EDIT,
            proof="max(1,",
        ),
        Fix(
            "Or let the argument mean the batch of one rank, and do not divide it",
            'parser.add_argument("--batch-size", type=int, default=32, help="samples per rank")',
            Kind.EDIT,
        ),
        Fix(
            "Start with a batch size of at least one sample per rank",
            "torchrun --nproc-per-node=2 train.py --batch-size 64",
        ),
    ],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say whether too little is left, or a fraction came out."""
    size = sighting.groups.get("size")
    if size is None:
        batch, of = sighting.groups["batch"], sighting.groups["of"]
        yield check.found(
            f"the batch size of all ranks together, {batch}, cannot be divided by {of}", fixes=[MULTIPLE]
        )
    elif size == "0":
        yield check.found("the batch size is 0: mostly it was divided by more ranks than it has samples")
    else:
        yield check.found(
            f"the batch size is {size}, and must be a whole number: mostly it was divided with / where // is meant"
        )


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A loader's batch size that is divided by the number of ranks, which may be more."""
    for loader in script.of_kind("loader"):
        made = script.made_by(loader)
        size = made.value("batch_size") if made is not None else None
        if made is None or size is None or size.text not in ("FloorDiv", "Div") or len(size.items) != 2:
            continue
        whole, parts = size.items
        if parts.known in (Known.WORLD_SIZE, Known.DEVICE_COUNT):
            written = f"{whole.literal} " if isinstance(whole.literal, int) else ""
            yield check.found(
                f"the batch size {written}is divided by the number of ranks: with more ranks than samples it is 0, and "
                "what is left over is lost",
                severity=Severity.NOTE,
                location=made.arguments["batch_size"].place,
            )
