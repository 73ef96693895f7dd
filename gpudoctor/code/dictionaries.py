"""Dictionaries whose keys are written out, and lists: what is in them, and what is put into them."""

import ast
from typing import Any

from msgspec.structs import replace

from gpudoctor.code.program import Frame, mixed, one_of
from gpudoctor.facts import Argument, Known, Value

MOST_ENTRIES = 40


def known(value: Value) -> bool:
    """Return whether a value is a dictionary all of whose keys are known."""
    return value.known is Known.MAPPING and isinstance(value.literal, tuple) and not value.text


def entry(value: Value, key: object) -> Value | None:
    """Return what a dictionary holds under a key, ``None`` where that is not known; of several those that have it."""
    if value.known is Known.CHOICE:
        found = [held for item in value.possible() if (held := entry(item, key)) is not None]
        return one_of(found) if found else None
    return _held(value).get(key) if known(value) else None


def _held(value: Value) -> dict[Any, Value]:
    return dict(zip(value.literal, value.items, strict=True))


def _mapping(entries: dict[Any, Value]) -> Value:
    by_rank, from_data = mixed(list(entries.values()))
    items = tuple(entries.values())
    return Value(Known.MAPPING, tuple(entries), items=items, by_rank=by_rank, from_data=from_data)


def filled(frame: Frame, target: ast.expr, holder: Value, more: dict[Any, Value]) -> None:
    """Give the dictionary that a name or attribute holds more entries, or each that it may hold."""
    choices = list(holder.possible())
    if all(known(choice) and len(choice.items) + len(more) <= MOST_ENTRIES for choice in choices):
        _bound(frame, target, one_of([_mapping({**_held(choice), **more}) for choice in choices]))


def removed(frame: Frame, target: ast.expr, holder: Value, key: object) -> None:
    """Take an entry out of the dictionary that a name or attribute holds, or out of each that it may hold."""
    choices = list(holder.possible())
    if all(known(choice) for choice in choices) and entry(holder, key) is not None:
        left = [{name: value for name, value in _held(choice).items() if name != key} for choice in choices]
        _bound(frame, target, one_of([_mapping(entries) for entries in left]))


def updated(frame: Frame, target: ast.expr, holder: Value, arguments: dict[str, Argument]) -> None:
    """Note what ``update`` puts into a dictionary; where that is not known, its keys are not known any more."""
    first = arguments.get("0")
    more: dict[Any, Value] = {key: argument.value for key, argument in arguments.items() if key != "0"}
    if first is None or known(first.value):
        filled(frame, target, holder, {**(_held(first.value) if first else {}), **more})
    else:
        opened(frame, target, holder, first.value)


def opened(frame: Frame, target: ast.expr, holder: Value, value: Value) -> None:
    """Note that a dictionary got a value under a key that is not known.

    What wraps one of its entries comes in the place of each: ``for key in nets: nets[key] = DataParallel(nets[key])``.
    """
    inner = frame.program.things[value.thing].inner if value.thing >= 0 else -1
    if inner >= 0 and any(inner in item.things for item in holder.items):
        entries = tuple(value if item.things else item for item in holder.items)
        _bound(frame, target, replace(holder, items=entries))
        return
    by_rank, from_data = mixed([holder, value])
    items = (*holder.items[:MOST_ENTRIES], value)
    _bound(frame, target, Value(Known.MAPPING, items=items, by_rank=by_rank, from_data=from_data))


def appended(frame: Frame, target: ast.expr, holder: Value, arguments: dict[str, Argument]) -> None:
    """Note what ``append`` puts into a list: an object of the script, or that its numbers are this rank's own."""
    value = next((argument.value for argument in arguments.values()), None)
    if value is None:
        return
    by_rank, from_data = mixed([holder, value])
    if value.things and not holder.text and len(holder.items) < MOST_ENTRIES:
        items = (*holder.items, value)
        _bound(frame, target, Value(Known.SEQUENCE, items=items, by_rank=by_rank, from_data=from_data))
    elif not value.things and (by_rank, from_data) != (holder.by_rank, holder.from_data):
        _bound(frame, target, Value(Known.SEQUENCE, text="appended", by_rank=by_rank, from_data=from_data))


def _bound(frame: Frame, target: ast.expr, value: Value) -> None:
    if isinstance(target, ast.Name):
        frame.bind(target.id, value)
    elif isinstance(target, ast.Attribute):
        for thing in frame.program.evaluate(frame, target.value).things:
            frame.program.hold(thing, target.attr, value)


def spread(frame: Frame, node: ast.expr, value: Value) -> dict[str, Argument]:
    """Return the arguments that ``**value`` gives, none where they are not known."""
    choices = list(value.possible())
    if not all(known(choice) for choice in choices):
        return {}
    place, text = frame.place(node), frame.text(node)
    held = [_held(choice) for choice in choices]
    keys = {key: None for entries in held for key in entries}
    without = Value(Known.LITERAL)  # where one branch alone gives it
    return {
        str(key): Argument(one_of([entries.get(key, without) for entries in held]), place, f"{text}[{key!r}]")
        for key in keys
    }


def fields(frame: Frame, thing: int, held: dict[str, Value]) -> None:
    """Give an object the attributes that something hands it by name."""
    for name, value in held.items():
        frame.program.hold(thing, name, value)


def set_by_name(frame: Frame, node: ast.Call, name: str, arguments: dict[str, Argument]) -> bool:
    """Follow ``setattr(x, "name", value)`` and ``x.__dict__.update(...)``; return whether a call is one of them."""
    values = [argument.value for argument in arguments.values()]
    if name == "setattr" and len(values) == 3 and isinstance(values[1].literal, str):
        for thing in values[0].things:
            frame.program.hold(thing, values[1].literal, values[2])
        return bool(values[0].things)
    called = node.func
    holder = called.value if isinstance(called, ast.Attribute) and called.attr == "update" else None
    if not isinstance(holder, ast.Attribute) or holder.attr != "__dict__":
        return False
    held = {key: a.value for key, a in arguments.items() if key != "0"}
    if "0" in arguments and known(arguments["0"].value):
        held |= {str(key): value for key, value in _held(arguments["0"].value).items()}
    things = frame.program.evaluate(frame, holder.value).things
    for thing in things:
        fields(frame, thing, held)
    return bool(things) and bool(held)


def entries(receiver: Value, attribute: str) -> Value | None:
    """Return what ``values``, ``items`` or ``copy`` of a dictionary come to, ``None`` where it is none."""
    held = [value for value in receiver.possible() if value.known in (Known.SEQUENCE, Known.MAPPING)]
    if not held:
        return None
    if len(held) > 1 and attribute != "copy":
        found = [entry for value in held if (entry := entries(value, attribute))]
        by_rank, from_data = mixed(found)
        items = tuple(item for entry in found for item in entry.items)
        return Value(Known.SEQUENCE, items=items, by_rank=by_rank, from_data=from_data)
    value = held[0]
    if attribute == "items" and value.known is Known.MAPPING and not isinstance(value.literal, tuple):
        pairs = tuple(Value(Known.SEQUENCE, items=(Value(), item)) for item in value.items if item.things)
        return replace(value, known=Known.SEQUENCE, literal=None, items=pairs) if pairs else receiver
    if attribute == "copy" or value.known is Known.SEQUENCE or not isinstance(value.literal, tuple):
        return receiver
    items = value.items
    if attribute == "items":
        items = tuple(
            Value(Known.SEQUENCE, items=(Value(Known.LITERAL, key), item))
            for key, item in zip(value.literal, value.items, strict=True)
        )
    return Value(Known.SEQUENCE, items=items, by_rank=value.by_rank, from_data=value.from_data)


def made_of(frame: Frame, arguments: dict[str, Argument]) -> Value:
    """What ``dict`` returns: a mapping of its keywords, which may begin with another one."""
    del frame
    first = arguments.get("0")
    found = {key: argument.value for key, argument in arguments.items() if key != "0"}
    if first is not None and not known(first.value):
        return Value(Known.MAPPING, items=(first.value, *found.values()))
    if first is not None:
        found = {**_held(first.value), **found}
    return _mapping(found)
