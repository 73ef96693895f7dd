"""The sampler is never told the epoch: every epoch has the same order.

## What happens

Nothing fails. Every epoch goes through the data in the same order, so each rank sees the same samples in the same batches again and
again, and the model learns a little less than it could.

## Why

A `DistributedSampler` shuffles with a generator of its own, seeded with `seed + epoch`. The epoch is 0 until `set_epoch` is called, so
without it all epochs get the permutation of the first one.

## How to tell

Print the first indices that the sampler gives in two epochs: `print(list(sampler)[:8])`. They are the same.

Or have the script check it: compare what two epochs yield: `assert orders[0] != orders[1], "every epoch has the same order"`.
`gpudoctor explain` recognises that message in a log.

## See also

- [torch.utils.data.distributed.DistributedSampler](https://docs.pytorch.org/docs/stable/data.html#torch.utils.data.distributed.DistributedSampler): the warning about `set_epoch`
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Call, Known, Script, Thing, side, without_gradients

check = Check(
    severity=Severity.WARNING,
    symptoms=[r"every epoch has the same order"],
    message="the sampler yields the same order in every epoch: set_epoch is not called",
    fixes=[
        Fix(
            "Tell the sampler the epoch, before the loader is iterated",
            "for epoch in range(epochs):\n    sampler.set_epoch(epoch)\n    for batch in loader:\n        ...",
            Kind.EDIT,
            proof="sampler.set_epoch(epoch)",
        )
    ],
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """A DistributedSampler that shuffles, in a loop over epochs, whose set_epoch nobody calls."""
    unknown = [c for c in script.methods("set_epoch") if not c.receiver.things and not DATASET.search(c.text)]
    for sampler in script.of_kind("sampler"):
        made = script.made_by(sampler)
        if sampler.type != "torch.utils.data.DistributedSampler" or made is None or sampler.escapes:
            continue
        if made.value("shuffle").literal is False or made.starred:
            continue
        if any(call.reached or not made.reached for call in unknown):
            continue  # of something that is not known here, and may be this sampler
        told = [call for call in script.uses(sampler) if call.method == "set_epoch"]
        alone = _by_some(script, told)
        if alone is not None:
            yield check.found(
                f"{alone.text}() is called by some ranks alone, under `{alone.rank_conditions[-1].text}`: the others keep the "
                "order of the first epoch, and the ranks' shares overlap",
                location=alone.place,
            )
            continue
        if any((call.loops or not call.reached) and not _once(call) for call in told):
            continue
        loaders = [loader for loader in script.of_kind("loader") if _takes(script, loader, sampler)]
        if any(True for _ in script.methods("set_epoch", "loader")):
            continue
        if any(loader.escapes and not _without_epoch(script, loader) for loader in loaders):
            continue
        # in a validation the order of the samples matters little
        loops = [
            loop
            for loader in loaders
            for loop in script.iterations(loader)
            if not without_gradients(script, loop)
        ]
        drawn = [c for c in script.named("iter", "itertools.cycle") for loader in loaders if c.takes(loader)]
        again = any(len(loop.loops) > 1 for loop in loops) or any(_anew(c) for c in drawn)
        if again or any(_without_epoch(script, loader) for loader in loaders):
            how = f"line {told[0].place} tells it one once" if told else "nothing calls its set_epoch"
            if any(call.loops for call in told):
                how = f"line {told[0].place} tells it one of them alone"
            yield check.found(
                f"this DistributedSampler shuffles by the epoch, and {how}: every epoch has the order of the first",
                location=sampler.place,
            )


def _by_some(script: Script, told: list[Call]) -> Call | None:
    """Return the call that tells a sampler its epoch on some ranks alone, ``None`` where others do on the rest."""
    if not told or not all(any(map(side, call.rank_conditions)) for call in told):
        return None
    parted = {(c.place, c.negated) for call in told for c in call.rank_conditions}
    both = any((place, not negated) in parted for place, negated in parted)
    return None if both or not script.distributed else told[0]


def _once(call: Call) -> bool:
    """Return whether a call in a loop stands under a test that holds for one number of the loop alone: ``epoch == 0``."""
    loop = call.within("epoch")
    return loop is not None and any(
        c.kind == "if" and not c.negated and re.fullmatch(rf"{re.escape(loop.target)} == \d+", c.text)
        for c in call.conditions
    )


def _anew(call: Call) -> bool:
    """Return whether a loader is gone through more than once: each epoch, without end, or again when it is over."""
    over = any(condition.kind == "except" for condition in call.conditions)
    return call.within("epoch") is not None or call.method == "cycle" or (over and bool(call.loops))


def _without_epoch(script: Script, loader: Thing) -> bool:
    """Return whether a loader goes, epoch after epoch, to a function for training that is not told the epoch."""
    uses = [call for call in script.uses(loader) if call.number != loader.made and call.name not in COUNTING]
    trained = [call for call in uses if call.within("epoch") and _trains(call.text.lower())]
    return bool(trained) and all(
        not call.starred
        and (call in trained or EVALUATING.search(call.text.lower()) is not None)
        and loader.number not in call.receiver.things
        and not any(
            a.value.known is Known.INDEX or a.value.may_be(Known.INDEX) for a in call.arguments.values()
        )
        for call in uses
    )


def _trains(name: str) -> bool:
    """Return whether a function is called after a pass of training."""
    passes = re.search(r"(?:^|[._])(?:run|do|one)_(?:one_)?epoch$|fit_(?:one_)?epoch", name) is not None
    return "train" in name or passes


COUNTING = ("len", "print")
"""What asks a loader how long it is."""
DATASET = re.compile(r"data_?set\.set_epoch$", re.I)
"""How a data set is told the epoch, and not its sampler."""
EVALUATING = re.compile(r"(?:^|[._])(?:eval|evaluate|valid|validate|val|test|accuracy|evaluation)\w*$")
"""Names of functions that go through a loader and train nothing."""


def _takes(script: Script, loader: Thing, sampler: Thing) -> bool:
    """Return whether a loader draws its samples from a sampler."""
    made = script.made_by(loader)
    if made is None:
        return False
    given = [script.things[n] for name in ("sampler", "batch_sampler") for n in made.value(name).things]
    return any(sampler.number in (thing.number, thing.inner) for thing in given)
