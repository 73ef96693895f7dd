"""One rank ran out of batches before the others.

## What happens

Under `Join`: "Rank 0 exhausted all inputs." and, on the other ranks, "Detected at least one rank that exhausted inputs.
Throwing across all ranks", or the warning "Detected uneven input skew of greater than 1000". Without `Join` nothing says
so: the ranks that have batches left wait in their next backward pass until a time-out, or until the connection closes.

## Why

Every step is a sum over all ranks, and one of them no longer comes:

- The dataset is split without padding or cutting: an iterable dataset, a list that was cut by hand, shards of other
  lengths.
- A rank leaves out samples that it cannot read, or filters by length.
- The loop ends by time or by the rank's own loss.

## How to tell

`print(rank, len(loader))` before the loop; with an iterable dataset count the steps of each rank. A rank that printed
the end of the epoch, while the others stand in `backward()`, is the one.

## See also

- [Join: uneven inputs](https://docs.pytorch.org/tutorials/advanced/generic_join.html): the ranks that are done shadow the others' calls
- [DistributedSampler](https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler): pads,
  or cuts with `drop_last`
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where Join makes up for it",
    symptoms=[
        r"Rank (?P<rank>\d+) exhausted all inputs",
        r"Detected at least one rank that exhausted inputs",
        r"Detected uneven input skew of greater than (?P<skew>\d+)(?:\. This means that rank (?P<rank>\d+))?",
    ],
    fixes=[
        Fix(
            "Give every rank as many batches: this sampler pads the shorter shares",
            "sampler = DistributedSampler(dataset, shuffle=True)\n"
            "loader = DataLoader(dataset, batch_size=32, sampler=sampler, drop_last=True)",
            Kind.EDIT,
            proof="sampler = DistributedSampler(dataset, shuffle=True)",
        ),
        Fix(
            "Of an iterable dataset: stop all ranks after the smallest number of steps",
            "steps = torch.tensor(my_batches)\ndist.all_reduce(steps, op=dist.ReduceOp.MIN)\n"
            "for batch in itertools.islice(loader, steps.item()):\n    step(batch)",
            Kind.EDIT,
        ),
        Fix(
            "Or let a rank that is done take part in the others' sums (DDP and ZeroRedundancyOptimizer, not FSDP)",
            "with model.join():\n    for batch in loader:\n        step(batch)",
            Kind.EDIT,
        ),
    ],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """A difference that Join made up for is a warning."""
    seen = sighting.groups
    who = f"rank {seen['rank']}" if "rank" in seen else "a rank"
    if "skew" in seen:
        said = (
            f"{who} has at least {seen['skew']} batches fewer than the others; Join makes up for it, slowly"
        )
        yield check.found(said, severity=Severity.WARNING)
    else:
        yield check.found(f"{who} had no more batches while others had")
