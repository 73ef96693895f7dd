"""Which ranks come to a script's collectives: those under a test for the rank, and loops that ranks leave alone."""

from collections.abc import Sequence

from msgspec import Struct

from gpudoctor.facts.script import Script
from gpudoctor.facts.script_calls import Call
from gpudoctor.facts.script_conditions import Condition
from gpudoctor.facts.script_joined import joined
from gpudoctor.facts.script_values import ANY_OTHER, Known, Place, Value

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
    if value.text == "In" and len(value.items) == 2 and value.items[0].is_rank and _some(value.items[1]):
        return Side(condition, condition.place, chosen=not condition.negated)
    if value.text == "Eq" and len(value.items) == 2 and value.items[0].is_rank and _one_rank(value.items[1]):
        return Side(condition, condition.place, chosen=not condition.negated)
    return None


def _some(value: Value) -> bool:
    """Return whether a value is a list of some ranks, written out."""
    return value.known is Known.SEQUENCE and len(value.items) > 1 and all(map(_counted, value.items))


def _counted(value: Value) -> bool:
    return value.is_literal and type(value.literal) is int and value.literal >= 0


def _one_rank(value: Value) -> bool:
    """Return whether a value is the same on all ranks and names one of them: an option, or the last rank."""
    of_size = value.text == "Sub" and any(item.known is Known.WORLD_SIZE for item in value.items)
    return value.known is Known.ARGUMENT or (of_size and not value.by_rank)


def parted(script: Script, meeting: Sequence[Call] | None = None) -> list[Parted]:
    """Return the calls for which every rank has to come, and some alone do; the first of each side of each test.

    `meeting` are the calls in question, those of `joined` where none are given.
    """
    sides: dict[tuple[object, bool], set[str]] = {}
    calls: list[tuple[Call, Side]] = []
    wrapped = [made for t in script.of_kind("ddp", "fsdp") if (made := script.made_by(t)) is not None]
    for call in joined(script) if meeting is None else meeting:
        # ``backward`` meets the other ranks only where the wrapper is made
        found = [side(condition) for condition in call.apart(*() if call.collective else wrapped)]
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
            if _made_before(call, places):
                continue
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


def _places(script: Script) -> dict[Place, list[Call]]:
    found: dict[Place, list[Call]] = {}
    for call in script.calls:
        found.setdefault(call.place, []).append(call)
    return found


def _made_before(call: Call, places: dict[Place, list[Call]]) -> bool:
    """Return whether all ranks have come to the same line, which makes what is not there yet: a property's wrapper."""
    once = any(condition.text.endswith(" is None") and not condition.negated for condition in call.conditions)
    before = (c for c in places[call.place] if c.number < call.number and c.name == call.name)
    return once and any(not c.rank_conditions for c in before)


def _standing(call: Call, condition: Condition, places: dict[Place, list[Call]]) -> tuple[Place, str]:
    """Return what stands under a condition and leads to a call, outermost first."""
    for place in call.stack:
        for leading in places.get(place, ()):
            if condition in leading.conditions:
                return place, leading.text
    return call.place, call.text


__all__ = ["Parted", "Side", "parted", "side"]
