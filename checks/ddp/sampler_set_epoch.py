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
from gpudoctor.facts import CHANGES, ONCE, Call, Known, Script, Thing, side, without_gradients

check = Check(
    severity=Severity.WARNING,
    otherwise="a note where a function of another file, which is told the epoch, may call it",
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
    always = next((c for c in script.methods("set_epoch") if _always_same(script, c)), None)
    if always is not None:
        yield check.found(
            f"{always.text}({always.arguments['epoch'].text}) tells the sampler the same number in every epoch, so every epoch "
            "has the order of the first",
            location=always.place,
        )
        return
    for sampler in script.of_kind("sampler"):
        found = _not_told(script, sampler, unknown) or _nowhere(script, sampler)
        if found is not None:
            yield found


def _nowhere(script: Script, sampler: Thing) -> Finding | None:
    """Report a sampler whose set_epoch no line calls of a folder in which a model is trained for epochs."""
    made = script.made_by(sampler)
    if made is None or made.starred or script.folder is None or script.frameworks:
        return None
    if sampler.type != "torch.utils.data.DistributedSampler" or any(c.impossible for c in made.conditions):
        return None
    if script.folder != {"backward", "epochs"} or made.value("shuffle").literal is False:
        return None
    loaders = [loader for loader in script.of_kind("loader") if _takes(script, loader, sampler)]
    if any(without_gradients(script, loop) for loader in loaders for loop in script.iterations(loader)):
        return None
    if _held_out(made):
        return None
    return check.found(
        "this DistributedSampler shuffles by the epoch, and no file here calls set_epoch: every epoch has the order of the "
        "first",
        location=sampler.place,
    )


HELD_OUT = re.compile(r"(?<![a-z])(?:val(?!ue)|test|eval|dev|infer|predict)", re.I)
"""What is in the names of data that nothing is learnt from, and of what makes its loader."""


def _held_out(made: Call) -> bool:
    """Return whether names tell that nothing is learnt from the data of a sampler."""
    words = [made.scope, *(argument.text for argument in made.arguments.values())]
    return HELD_OUT.search(" ".join(words)) is not None


def _not_told(script: Script, sampler: Thing, unknown: list[Call]) -> Finding | None:
    """Report a sampler that is gone through in several epochs, and not told of them."""
    made = script.made_by(sampler)
    own = _by_epoch(script, sampler)
    known = own or sampler.type == "torch.utils.data.DistributedSampler"
    if not known or made is None or sampler.escapes or any(c.impossible for c in made.conditions):
        return None
    if made.value("shuffle").literal is False or made.starred:
        return None
    if any(call.reached or not made.reached for call in unknown):
        return None  # of something that is not known here, and may be this sampler
    if _held_out(made) and next(script.methods("backward"), None) is None:
        return None  # a program that evaluates, perhaps several times
    told = [call for call in script.uses(sampler) if call.method == "set_epoch"]
    alone = _by_some(script, told, made)
    if alone is not None:
        return check.found(
            f"{alone.text}() is called by some ranks alone, under `{alone.rank_conditions[-1].text}`: the others keep the "
            "order of the first epoch, and the ranks' shares overlap",
            location=alone.place,
        )
    if any((call.loops or not call.reached) and not _once(call) for call in told):
        return None
    loaders = [loader for loader in script.of_kind("loader") if _takes(script, loader, sampler)]
    if any(True for _ in script.methods("set_epoch", "loader")):
        return None
    if any(
        loader.escapes and not _without_epoch(script, loader) and not _handed(script, loader)
        for loader in loaders
    ):
        return None
    # in a validation the order of the samples matters little
    loops = [
        loop
        for loader in loaders
        for loop in script.iterations(loader)
        if not without_gradients(script, loop)
    ]
    drawn = [c for c in script.named("iter", "itertools.cycle") for loader in loaders if c.takes(loader)]
    drawn = [c for c in drawn if not HELD_OUT.search(c.scope)]  # no_grad may begin below it
    again = any(_passes(loop) > 1 for loop in loops) or any(_anew(c) for c in drawn)
    handed = None if again else next((c for loader in loaders for c in _handed(script, loader)), None)
    if again or handed is not None or any(_without_epoch(script, loader) for loader in loaders):
        how = f"line {told[0].place} tells it one once" if told else "nothing calls its set_epoch"
        if any(call.loops for call in told):
            how = f"line {told[0].place} tells it one of them alone"
        without = any(_without_epoch(script, loader) for loader in loaders)
        unsure = handed is not None and not told and not (without and _told_nothing(script, handed))
        if handed is not None and unsure:
            how = f"nothing here calls its set_epoch; unless {handed.text} (line {handed.place}) does"
        return check.found(
            f"this {'sampler' if own else 'DistributedSampler'} shuffles by the epoch, and {how}: every epoch has the order of "
            "the first",
            severity=Severity.NOTE if unsure else Severity.WARNING,
            location=sampler.place,
        )
    return None


def _by_epoch(script: Script, sampler: Thing) -> bool:
    """Return whether a sampler is of the script's own class, whose order is drawn from a seed that is the epoch."""
    if sampler.type.startswith("torch."):
        return False
    inside = [call for call in script.methods("manual_seed") if call.of_class(sampler.type, "__iter__")]
    drawn = [c for c in inside if not any(t.value.literal is False and not t.negated for t in c.conditions)]
    return any(EPOCH.search(argument.text) for call in drawn for argument in call.arguments.values())


EPOCH = re.compile(r"self\._?epoch\b")
"""Where a sampler keeps the epoch."""


def _always_same(script: Script, call: Call) -> bool:
    """Return whether a call in a loop over epochs tells a sampler a number that nothing changes."""
    given = call.arguments.get("epoch") or call.arguments.get("0")
    if given is None or not _epochs(call) or DATASET.search(call.text) or _once(call):
        return False
    value = given.value
    plain = given.text.isidentifier() or given.text.isdecimal()
    fixed = type(value.literal) is int and value.is_literal and value.text != CHANGES and plain
    return fixed and not any(c.text == given.text for c in script.named("<augmented>"))


def _epochs(call: Call) -> bool:
    """Return whether a call stands in a loop over more than one epoch."""
    return any(loop.kind == "epoch" and loop.over.text != ONCE for loop in call.loops)


def _passes(call: Call) -> int:
    """Return how many loops stand around a call that may go round more than once."""
    return sum(loop.over.text != ONCE for loop in call.loops)


def _handed(script: Script, loader: Thing) -> list[Call]:
    """Return the functions of other files for training that are given a loader in each epoch, and told the epoch."""
    uses = [call for call in script.uses(loader) if call.number != loader.made and call.name not in COUNTING]
    own = {signature.name for signature in script.signatures}
    trained = [
        call
        for call in uses
        if _epochs(call) and _trains(call.text.lower()) and call.name not in own and not call.starred
    ]
    rest = [c for c in uses if c not in trained and not EVALUATING.search(c.text.lower())]
    return [] if any(loader.number in c.receiver.things or c.name != "<loop>" for c in rest) else trained


def _told_nothing(script: Script, call: Call) -> bool:
    """Return whether a function of another file does not come to know the epoch, nor is an object's that may count it."""
    kept = any(EPOCH_KEPT.search(other.text) for other in script.methods("__set__"))
    return not kept and (call.receiver.known is Known.SYMBOL or "." not in call.text)


EPOCH_KEPT = re.compile(r"epoch$", re.I)
"""How an attribute is called that an object knows the epoch by."""


def _by_some(script: Script, told: list[Call], made: Call) -> Call | None:
    """Return the call that tells a sampler its epoch on some ranks alone, ``None`` where others do on the rest."""
    if not told or not all(any(map(side, call.apart(made))) for call in told):
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
    trained = [call for call in uses if _epochs(call) and _trains(call.text.lower())]
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
