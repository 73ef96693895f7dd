"""Tests that are asked again: ``if ddp: model = DDP(model)``, and later ``model.module if ddp else model``."""

from gpudoctor.code.program import Frame, Sides
from gpudoctor.facts import Known, Value


def settle(
    frame: Frame, test: str, value: Value, then: dict[str, Value], otherwise: dict[str, Value]
) -> None:
    """Keep what names hold after a test, by how it came out; one that asks for the rank or data answers anew."""
    if value.by_rank or value.from_data:
        return
    for name, either in frame.names.items():
        sides = then.get(name), otherwise.get(name)
        if either.known is not Known.CHOICE or sides[0] is None or sides[1] is None or sides[0] is sides[1]:
            continue
        if any(side.known is Known.THING for side in sides if side is not None):
            known, names = frame.settled.get(test, (value, {}))
            names = names if known == value else {}
            frame.settled[test] = value, {**names, name: Sides(either, sides[0], sides[1])}


def narrowed(frame: Frame, test: str, value: Value) -> dict[str, Sides]:
    """Return the names that a test decides which was asked before, and that were given nothing else since."""
    known, names = frame.settled.get(test, (value, {}))
    if known != value:
        return {}
    return {name: sides for name, sides in names.items() if frame.names.get(name) is sides.either}


__all__ = ["narrowed", "settle"]
