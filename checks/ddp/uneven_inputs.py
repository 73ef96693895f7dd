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
the end of the epoch, while the others are in `backward()`, is the one.

## See also

- [Join: uneven inputs](https://docs.pytorch.org/tutorials/advanced/generic_join.html): the ranks that are done shadow the others' calls
- [DistributedSampler](https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler): pads,
  or cuts with `drop_last`
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting
from gpudoctor.facts import ALL_OF, EVERY_NTH, Argument, Known, Place, Script, Thing, Value, joined, origins

WRITTEN = re.compile(r"range\(.+,.+,.+\)|islice\(.+,.+,.+,.+\)")
"""Every n-th sample, from the rank on."""

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where Join makes up for it, and in a script: the shares may come out even",
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
            "steps = torch.tensor(my_batches, device=device)\ndist.all_reduce(steps, op=dist.ReduceOp.MIN)\n"
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


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A loop with collectives over a share that is cut by the rank: one rank may have a batch more than another."""
    busy = {loop.place for call in joined(script) for loop in call.loops}
    if not busy:
        return
    yield from _of_lists(script, busy)
    subsets = {call.result.thing: call for call in script.named("torch.utils.data.Subset")}
    for loader in script.of_kind("loader"):
        begun = [call for call in script.iterations(loader) if call.loops and call.loops[-1].place in busy]
        made = script.made_by(loader)
        if not begun or made is None or all(_joined_up(script, call.contexts) for call in begun):
            continue
        subset = subsets.get(loader.inner)
        given = [(made, "sampler"), (made, "batch_sampler"), *([(subset, "indices")] if subset else [])]
        for call, name in given:
            part = call.arguments.get(name)
            if part is not None and (cut(part.value, part.text) or _of_parts(script, part.value)):
                yield uneven(part.text, call.place)
                break
        else:
            part = _taken(script, loader)
            if part is not None:
                yield uneven(part.text, part.place)


def _of_lists(script: Script, busy: set[Place]) -> Iterator[Finding]:
    """Report loops over every n-th item of a list, and loaders of a data set that keeps every n-th."""
    for begun in script.named("<loop>"):
        over = begun.receiver
        if not begun.loops or begun.loops[-1].place not in busy or _joined_up(script, begun.contexts):
            continue
        if any(_every_nth(script, value) for value in (over, *over.items)):
            yield uneven(begun.text, begun.loops[-1].place)
            return
    for kept in script.methods("__set__"):
        holders = [t for t in script.of_kind("loader") if t.inner >= 0 and t.inner in kept.receiver.things]
        loops = [begun for loader in holders for begun in script.iterations(loader) if begun.loops]
        if _every_nth(script, kept.value("value")) and any(begun.loops[-1].place in busy for begun in loops):
            yield uneven(kept.text, kept.place)
            return


def _every_nth(script: Script, value: Value) -> bool:
    """Return whether a value is every n-th item of a list that nothing has brought to a length that fits."""
    if value.text == "comprehension":
        return bool(value.literal == EVERY_NTH)
    if value.text != EVERY_NTH or not value.items:
        return False
    whole = value.items[0]
    made = whole.made >= 0 or whole.text in ("comprehension", ALL_OF)
    return made and not any(
        argument.value.may_be(Known.WORLD_SIZE) or any(_of_size(part) for part in argument.value.items)
        for call in origins(script, whole)
        for argument in call.arguments.values()
    )


def _of_size(value: Value) -> bool:
    """Return whether a number is computed from the number of ranks: ``n // world_size * world_size``."""
    return value.known is Known.WORLD_SIZE or any(_of_size(item) for item in value.items)


def uneven(share: str, place: Place) -> Finding:
    """Report a share that is cut by the rank."""
    return check.found(
        f"`{share}` gives some ranks more samples than others: a rank that has a batch more waits in its collectives for "
        "ranks that have left the loop",
        severity=Severity.WARNING,
        location=place,
    )


def cut(value: Value, text: str) -> bool:
    """Return whether a value holds the numbers of samples that this rank takes: every n-th, or those of a branch."""
    if not value.by_rank:
        return False
    of_branches = value.known is Known.INDEX and value.text == "if"
    if EVERY_NTH in (value.literal, value.text) and value.known in (Known.SEQUENCE, Known.INDEX):
        return True
    return of_branches or WRITTEN.search(text) is not None


SPLITS = ("numpy.array_split", "torch.tensor_split", "torch.chunk")
"""Functions whose parts differ by one sample where the number of ranks does not divide that of the samples."""


def _of_parts(script: Script, value: Value) -> bool:
    """Return whether samples are this rank's part of a list that is split into one for each rank."""
    sampler = script.thing(value, "sampler")
    drawn = script.made_by(sampler) if sampler is not None else None
    if drawn is not None:
        return any(_of_parts(script, a.value) for a in drawn.arguments.values() if not a.value.things)
    return value.by_rank and any(
        call.name in SPLITS and any(a.value.known is Known.WORLD_SIZE for a in call.arguments.values())
        for call in origins(script, value)
    )


def _taken(script: Script, loader: Thing) -> Argument | None:
    """Return where the iterable data set of a loader takes every n-th of what it reads, from the rank on."""
    if loader.inner < 0:
        return None
    owner = script.things[loader.inner].type
    for call in script.calls:
        nth = next((test for test in call.conditions if test.value.every_nth), None)
        if call.of_class(owner, "__iter__") and nth is not None and not nth.negated:
            return Argument(nth.value, nth.place, nth.text)
    for call in script.named("itertools.islice"):
        values = list(call.arguments.values())
        if call.of_class(owner, "__iter__") and len(values) == 4 and values[1].value.by_rank:
            if not any(word in values[3].text for word in ("worker", "step")):
                return values[1]
    return None


def _joined_up(script: Script, contexts: tuple[str, ...]) -> bool:
    """Return whether Join lets ranks that are done answer for the rest."""
    if not any(name.endswith((".join", ".Join")) for name in contexts):
        return False
    return not any(call.given("throw_on_early_termination") for call in script.calls)
