"""Loops and functions that some ranks leave alone, by their rank or their own data, while the others go on to meet."""

import re
from collections.abc import Iterator

from gpudoctor.facts.script import Script
from gpudoctor.facts.script_calls import Call, Exit
from gpudoctor.facts.script_collectives import side
from gpudoctor.facts.script_conditions import Condition, Loop
from gpudoctor.facts.script_joined import joined
from gpudoctor.facts.script_values import Known, Place, Thing, Value


def parted_by_data(script: Script) -> Iterator[tuple[Call, Condition]]:
    """Yield the calls for which every rank has to come, and each does only where its own numbers say so."""
    found = joined(script)
    for call in found:
        if not call.loops or not _divided(script, call.loops[0]):
            continue
        # the last pass of a loop, i == len(loader) - 1, is the same one on all ranks
        tests = (c for c in call.conditions if c.from_data and not c.early and "len(" not in c.text)
        tests = (c for c in tests if _alone(c, divided=True))
        condition = next(tests, None)
        if condition is None:
            continue
        opposite = (condition.place, not condition.negated)
        others = (
            c
            for c in found
            if c.name == call.name
            for test in c.conditions
            if (test.place, test.negated) == opposite
        )
        if not any(others):
            yield call, condition
            return


def left_alone(script: Script) -> Iterator[tuple[Exit, Condition, Call]]:
    """Yield the exits by which some ranks may leave a loop, or a pass of it, and the call for which the others wait."""
    waiting: dict[Place, list[Call]] = {}
    for call in joined(script):
        for loop in call.loops:
            waiting.setdefault(loop.place, []).append(call)
    if not waiting:
        return
    everywhere = _divided(script)
    for way in script.exits:
        if way.kind in ("raise", "exit") or not way.loops:
            continue
        loop = way.loops[-1]
        calls = waiting.get(loop.place, [])
        if way.kind == "continue":
            calls = [call for call in calls if call.number >= way.number]
        if not _inside(way.place, loop):
            continue  # it leaves a function that is called in the loop
        if way.kind == "return" and loop.scope != way.scope:
            continue  # or one that is made there
        inside = [condition for condition in way.conditions if _inside(condition.place, loop)]
        failed = next((c for c in inside if c.kind == "except"), None)
        if failed is not None:
            if any(word in c.text for c in way.conditions for word in ("initialized", "world_size")):
                continue  # with several ranks it raises again
            tried = [c for c in waiting.get(loop.place, []) if _tried(c, failed, loop)]
            if tried and way.kind == "continue" and any(e in failed.text for e in OF_ONE_RANK):
                yield way, failed, tried[0]
            continue
        if not calls or (way.kind == "break" and any(_last_pass(script, c, loop) for c in inside)):
            continue
        divided = everywhere or _divided(script, way.loops[0])
        skips = way.kind == "continue" and any(call.method == "backward" for call in calls)
        condition = next(
            (
                c
                for c in inside
                if _alone(c, divided=divided or (skips and _not_finite(script, c)))
                or (skips and divided and _without_batch(c))
            ),
            None,
        )
        if condition is not None and not _agreed_where_wrapped(script, way, condition):
            yield way, condition, calls[0]


def _agreed_where_wrapped(script: Script, way: Exit, condition: Condition) -> bool:
    """Return whether the ranks come to one answer wherever they meet: ``if ddp: stop = shared(stop)``."""
    wrappers = [made for t in script.of_kind("ddp", "fsdp") if (made := script.made_by(t)) is not None]
    flags = [{c.text for c in made.conditions if c.kind == "if" and not c.negated} for made in wrappers]
    if not flags or not condition.text.isidentifier():
        return False
    shared = {place for call in script.calls if call.collective for place in (call.place, *call.stack)}
    for call in script.calls[: way.number]:
        told = any(argument.text == condition.text for argument in call.arguments.values())
        if told and call.loops == way.loops and call.place in shared:
            under = {c.text for c in call.conditions if c.kind == "if"}
            if any(all(test in one for one in flags) for test in under):
                return True
    return False


def unequal(script: Script) -> Iterator[tuple[Place, str, Call]]:
    """Yield a ``range`` or ``while`` whose bound some ranks alone read from a file, and a call in it that waits."""
    bounds = {
        call.place.line: call.place
        for call in script.named("range")
        if not call.rank_conditions and _differs(script, [a.value for a in call.arguments.values()])
    }
    for call in joined(script):
        loop = next((loop for loop in call.loops if loop.place.line in bounds), None)
        if loop is not None and loop.place.path == call.place.path:
            yield bounds[loop.place.line], "range()", call
            return
        tests = (c for c in call.conditions if c.kind == "while" and not c.negated and c.by_rank)
        test = next((c for c in tests if _differs(script, list(c.value.items))), None)
        if test is not None:
            yield test.place, "while", call
            return


def _differs(script: Script, bounds: list[Value]) -> bool:
    """Return whether a loop's bound comes of a file that some ranks alone have read."""
    given = [
        value for value in bounds if _set_by_some(value) or (value.by_rank and value.known is Known.CHOICE)
    ]
    read = (part for value in given for option in value.possible() for part in (option, *option.items))
    files = (
        script.calls[part.made] for part in read if part.made >= 0 and part.text.startswith("checkpoint[")
    )
    return any(side(c) for file in files for c in file.rank_conditions)


def returned(script: Script) -> Iterator[tuple[Exit, Condition, Call]]:
    """Yield the returns of one rank, under a test of its own, from a function in which the other ranks go on to meet.

    Where the test for the rank alone leads to the return, `parted` tells: what follows stands after it.
    """
    ways = [(way, named) for way in script.exits if (named := _named(way))]
    met = [call for call in joined(script) if not call.rank_conditions] if ways else []
    opposite: dict[str, set[tuple[Place, bool]]] = {}
    for way in script.exits if met else ():
        if way.kind == "return":
            tests = (c for c in way.conditions if c.by_rank and not c.early)
            opposite.setdefault(way.scope, set()).update((c.place, c.negated) for c in tests)
    for way, named in ways:
        if any((c.place, not c.negated) in opposite.get(way.scope, ()) for c in named):
            continue  # the other ranks have a return of their own
        around = {c.place for c in way.conditions[:-1] if c not in named}
        after = (call for call in met if call.number >= way.number and call.scope == way.scope)
        call = next((call for call in after if around <= {c.place for c in call.conditions}), None)
        if call is not None:
            yield way, named[-1], call


def _named(way: Exit) -> list[Condition]:
    """Return the tests for one rank around a return that stands under a test of another kind; empty for all else."""
    last = way.conditions[-1] if way.kind == "return" and way.conditions else None
    if last is None or last.early or last.kind != "if" or last.by_rank:
        return []
    named = [c for c in way.conditions[:-1] if c.by_rank and not c.early and side(c) is not None]
    return named if named and not _of_size(way) else []


def _of_size(way: Exit) -> bool:
    """Return whether an exit stands under a test for a run with one process."""
    words = ("world_size", "distributed", "initialized", "ddp", "n_gpu", "num_gpus", "device_count")
    return any(word in test.text.lower() for test in way.conditions for word in words)


def _without_batch(condition: Condition) -> bool:
    """Return whether a test asks if a part of this rank's batch is None."""
    parts = condition.value.items
    asks = condition.value.text == "is" and len(parts) == 2 and parts[1].is_none
    return asks and parts[0].of_batch and parts[0].made < 0 and " not " not in condition.text


OF_ONE_RANK = ("RuntimeError", "OutOfMemoryError", "FloatingPointError")
"""Exceptions of a step that one rank may raise and the others not."""


def _tried(call: Call, handler: Condition, loop: Loop) -> bool:
    """Return whether a call stands in a loop's ``try``, above a handler of its exceptions."""
    return (
        "try" in call.contexts
        and call.method == "backward"
        and loop in call.loops[-1:]
        and (call.place.path == handler.place.path and loop.place.line < call.place.line < handler.place.line)
    )


LAST = re.compile(r"\(?(?P<index>\w+)(?P<more>\+1)?\)?(?:>=|==)\(?(?P<count>.+?)(?P<less>-1\)?)?")


def _last_pass(script: Script, condition: Condition, loop: Loop) -> bool:
    """Return whether a test holds in a loop's last pass alone, which all ranks leave: ``epoch == epochs - 1``."""
    parts = () if condition.negated else condition.text.split(" and ")
    told = [found for part in parts if (found := LAST.fullmatch(part.replace(" ", "")))]
    last = {m["count"] for m in told if m["index"] == loop.target and bool(m["more"]) != bool(m["less"])}
    stops = (call.arguments.get("1") or call.arguments.get("0") for call in script.named("range"))
    return any(stop is not None and stop.text.replace(" ", "") in last for stop in stops)


def _inside(place: Place, loop: Loop) -> bool:
    """Return whether a place is in the body of a loop."""
    return place.path == loop.place.path and loop.place.line < place.line <= loop.place.end_line


def _alone(condition: Condition, *, divided: bool) -> bool:
    """Return whether ranks surely come to different answers at times: they ask for the rank, a clock or their data."""
    if condition.kind != "if":
        return False
    if condition.by_rank:
        return not condition.early and (side(condition) is not None or _set_by_some(condition.value))
    return condition.from_data and (divided or "time" in condition.text.lower())


def _set_by_some(value: Value) -> bool:
    """Return whether a test asks for a flag or a count that some ranks alone have changed, or for what comes of one."""
    for item in (value, *(value.items if value.known is not Known.CHOICE else ())):
        options = list(item.possible())
        # what itself comes of a rank was perhaps handed through a function that is not seen: `resumed(ema, epochs)`
        plain = all(
            o.known in (Known.LITERAL, Known.UNKNOWN) and not (o.is_none or o.by_rank) for o in options
        )
        if item.by_rank and len(options) > 1 and plain and any(type(o.literal) in NUMBERS for o in options):
            return True
    return False


NUMBERS = (bool, int, float)


def _not_finite(script: Script, condition: Condition) -> bool:
    """Return whether a test asks for NaN in what this rank computed, and no loader gives all the same."""
    asks = any(word in condition.text for word in ("isnan", "isfinite", "isinf"))
    return asks and not any(next(script.iterations(loader), None) for loader in script.of_kind("loader"))


def _divided(script: Script, within: Loop | None = None) -> bool:
    """Return whether every rank has its own part of all data that is gone through, in a loop where one is named."""
    loaders = [
        loader
        for loader in script.of_kind("loader")
        if any(within is None or within in begun.loops for begun in script.iterations(loader))
    ]
    if within is None and next(script.of_kind("loader"), None) is None:
        return _own_numbers(script)
    return bool(loaders) and all(_own_share(script, loader) for loader in loaders)


SEEDS = ("torch.manual_seed", "numpy.random.seed", "random.seed")


def _own_numbers(script: Script) -> bool:
    """Return whether every rank draws numbers of its own, as where each plays its own game: its seed is of its rank."""
    return any(
        argument.value.by_rank for call in script.named(*SEEDS) for argument in call.arguments.values()
    )


def _own_share(script: Script, loader: Thing) -> bool:
    made = script.made_by(loader)
    if made is None:
        return False
    sampler = script.thing(made.value("sampler"), "sampler")
    return sampler is not None and sampler.type == "torch.utils.data.DistributedSampler"


__all__ = ["left_alone", "parted_by_data", "returned", "unequal"]
