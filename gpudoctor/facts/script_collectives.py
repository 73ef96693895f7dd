"""Which ranks come to a script's collectives: those under a test for the rank, and loops that ranks leave alone."""

from collections.abc import Iterator

from msgspec import Struct

from gpudoctor.facts.script import Call, Condition, Exit, Loop, Script
from gpudoctor.facts.script_joined import joined
from gpudoctor.facts.script_values import ANY_OTHER, Known, Place, Thing, Value

SEVERAL = ("dist", "ddp", "world_size", "initialized", "-1")


class Side(Struct, frozen=True):
    """The ranks that come to a call: those for which a test holds, or the others."""

    condition: Condition
    test: object
    """Equal for tests that part the ranks in the same way."""
    chosen: bool
    """Whether these are the ranks that the test names: rank 0 under ``if rank == 0:``."""

    def said(self) -> str:
        """Return which ranks do not come to the call."""
        value = self.condition.value
        number = value.sole if value.sole is not None else value.all_but
        if number is None:
            return "the other ranks do not"
        return f"the ranks other than {number} do not" if self.chosen else f"rank {number} does not"


class Parted(Struct, frozen=True):
    """A call that every rank has to make, and some alone do."""

    call: Call
    side: Side
    place: Place
    """Where it stands in the function that asks for the rank: the call itself, or what leads to it."""
    text: str
    """The source of what is called there."""


def side(condition: Condition) -> Side | None:
    """Return which ranks pass a condition, ``None`` where that is not known."""
    value = condition.value
    if value.text == ANY_OTHER and value.all_but is not None:
        return Side(condition, value.all_but, chosen=True) if condition.negated else None
    if " or " in condition.text and not any(word in condition.text.lower() for word in SEVERAL):
        return None
    if value.sole is not None:
        return Side(condition, value.sole, chosen=not condition.negated)
    if value.all_but is not None:
        return Side(condition, value.all_but, chosen=condition.negated)
    if len(value.items) == 2 and value.items[0].is_rank and isinstance(value.items[1].literal, int):
        return Side(condition, condition.place, chosen=not condition.negated)
    if value.text == "Eq" and len(value.items) == 2 and value.items[0].is_rank and _one_rank(value.items[1]):
        return Side(condition, condition.place, chosen=not condition.negated)
    return None


def _one_rank(value: Value) -> bool:
    """Return whether a value is the same on all ranks and names one of them: an option, or the last rank."""
    of_size = value.text == "Sub" and any(item.known is Known.WORLD_SIZE for item in value.items)
    return value.known is Known.ARGUMENT or (of_size and not value.by_rank)


def parted(script: Script) -> list[Parted]:
    """Return the calls for which every rank has to come, and some alone do; the first of each side of each test."""
    sides: dict[tuple[object, bool], set[str]] = {}
    calls: list[tuple[Call, Side]] = []
    for call in joined(script):
        found = [side(condition) for condition in call.rank_conditions]
        if not found or None in found:
            continue
        for one in found:
            if one is not None:
                sides.setdefault((one.test, one.chosen), set()).add(call.name)
                calls.append((call, one))
    if not calls:
        return []
    sides = _with_unseen(script, sides)
    places = _places(script)
    result: dict[tuple[Place, bool], Parted] = {}
    for call, one in calls:
        others = sides.get((one.test, not one.chosen), ())
        if call.name not in others and UNSEEN not in others and not _by_raise(script, one.condition):
            place, text = _standing(call, one.condition, places)
            if _also(script, one, text):
                continue  # the same function is called on the other side, and does there what it does here
            result.setdefault((one.condition.place, one.chosen), Parted(call, one, place, text))
    return list(result.values())


UNSEEN = "<yield>"
"""What somebody else does: between two steps of a generator, or with a function that it is given."""


def _with_unseen(
    script: Script, sides: dict[tuple[object, bool], set[str]]
) -> dict[tuple[object, bool], set[str]]:
    """Return the calls of each side, with a mark where others go on that are not seen."""
    for call in script.calls:
        handed = any(argument.value.known is Known.DEFINED for argument in call.arguments.values())
        for one in map(side, call.rank_conditions if handed or call.name == UNSEEN else ()):
            if one is not None and (one.test, not one.chosen) in sides:
                sides.setdefault((one.test, one.chosen), set()).add(UNSEEN)
    return sides


def _also(script: Script, one: Side, text: str) -> bool:
    """Return whether a call stands on the other branch of the very test, too, by its source."""
    opposite = (one.condition.place, not one.condition.negated)
    return any(
        call.text == text and any((c.place, c.negated) == opposite for c in call.conditions)
        for call in script.calls
    )


def _by_raise(script: Script, condition: Condition) -> bool:
    """Return whether ranks left by an exception alone: it ends their process, and a launcher then ends the others."""
    if not condition.early:
        return False
    taken = (condition.place, not condition.negated)
    ways = [way for way in script.exits if any((c.place, c.negated) == taken for c in way.conditions[-1:])]
    return bool(ways) and all(way.kind == "raise" for way in ways)


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


def _places(script: Script) -> dict[Place, list[Call]]:
    found: dict[Place, list[Call]] = {}
    for call in script.calls:
        found.setdefault(call.place, []).append(call)
    return found


def _standing(call: Call, condition: Condition, places: dict[Place, list[Call]]) -> tuple[Place, str]:
    """Return what stands under a condition and leads to a call, outermost first."""
    for place in call.stack:
        for leading in places.get(place, ()):
            if condition in leading.conditions:
                return place, leading.text
    return call.place, call.text


def left_alone(script: Script) -> Iterator[tuple[Exit, Condition, Call]]:
    """Yield the exits by which some ranks may leave a loop, or a pass of it, and the call for which the others wait."""
    waiting: dict[Place, list[Call]] = {}
    for call in joined(script):
        for loop in call.loops:
            waiting.setdefault(loop.place, []).append(call)
    if not waiting:
        return
    divided = _divided(script)
    for way in script.exits:
        if way.kind in ("raise", "exit") or not way.loops:
            continue
        loop = way.loops[-1]
        calls = waiting.get(loop.place, [])
        if way.kind == "continue":
            calls = [call for call in calls if call.number >= way.number]
        if not _inside(way.place, loop):
            continue  # it leaves a function that is called in the loop
        inside = [condition for condition in way.conditions if _inside(condition.place, loop)]
        failed = next((c for c in inside if c.kind == "except"), None)
        if failed is not None:
            if any(word in c.text for c in way.conditions for word in ("initialized", "world_size")):
                continue  # with several ranks it raises again
            tried = [c for c in waiting.get(loop.place, []) if _tried(c, failed, loop)]
            if tried and way.kind == "continue" and any(e in failed.text for e in OF_ONE_RANK):
                yield way, failed, tried[0]
            continue
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
        if calls and condition is not None:
            yield way, condition, calls[0]


def unequal(script: Script) -> Iterator[tuple[Call, Call]]:
    """Yield a ``range`` with a bound that some ranks alone changed, and a call in its loop that others wait for."""
    bounds = {call.place.line: call for call in script.named("range") if _differs(call)}
    for call in joined(script) if bounds else ():
        loop = next((loop for loop in call.loops if loop.place.line in bounds), None)
        if loop is not None and loop.place.path == call.place.path:
            yield bounds[loop.place.line], call
            return


def _differs(bounds: Call) -> bool:
    return not bounds.rank_conditions and any(_set_by_some(a.value) for a in bounds.arguments.values())


def returned(script: Script) -> Iterator[tuple[Exit, Condition, Call]]:
    """Yield the returns of one rank, under a test of its own, from a function in which the other ranks go on to meet.

    Where the test for the rank alone leads to the return, `parted` tells: what follows stands after it.
    """
    for way in script.exits:
        if way.kind != "return" or len(way.conditions) < 2:
            continue
        named = [c for c in way.conditions[:-1] if c.by_rank and not c.early and side(c) is not None]
        last = way.conditions[-1]
        if not named or last.early or last.kind != "if" or last.by_rank or _of_size(way):
            continue
        for call in joined(script):
            if call.number >= way.number and call.scope == way.scope and not call.rank_conditions:
                if {c.place for c in way.conditions if c not in named and c is not last} <= {
                    c.place for c in call.conditions
                }:
                    yield way, named[-1], call
                    break


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
        plain = all(o.known in (Known.LITERAL, Known.UNKNOWN) and not o.is_none for o in options)
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
    return bool(loaders) and all(_own_share(script, loader) for loader in loaders)


def _own_share(script: Script, loader: Thing) -> bool:
    made = script.made_by(loader)
    if made is None:
        return False
    sampler = script.thing(made.value("sampler"), "sampler")
    return sampler is not None and sampler.type == "torch.utils.data.DistributedSampler"


__all__ = ["Parted", "Side", "left_alone", "parted", "parted_by_data", "returned", "side", "unequal"]
