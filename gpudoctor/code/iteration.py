"""What is gone through piece by piece: iterators, as builtins and objects of the script's own classes have them."""

import ast

from msgspec.structs import replace

from gpudoctor.code.definitions import Class, Function
from gpudoctor.code.names import method_of
from gpudoctor.code.program import Frame
from gpudoctor.facts import Argument, Known, Value

_BUILTIN = {"__next__": "next", "next": "next", "__iter__": "iter"}
"""Methods of an iterator, and the functions that call them; old scripts write Python 2's ``next``."""
_IN_TURN = ("enumerate", "zip")
"""Functions that go through their arguments side by side."""


def builtin(frame: Frame, receiver: Value, attribute: str) -> str:
    """Return ``next`` or ``iter`` where a method of a loader, or of a generator, means that; else nothing."""
    of_loader = frame.program.kind(receiver) == "loader" or receiver.text == "generator"
    return _BUILTIN.get(attribute, "") if of_loader else ""


def own_method(frame: Frame, value: Value, name: str) -> Function | None:
    """Return the method with which an object of one of the script's classes answers ``next``, ``iter`` or a loop."""
    if value.known is not Known.THING or frame.program.things[value.thing].kind != "instance":
        return None
    item = frame.program.defined.get(frame.program.things[value.thing].type)
    return method_of(frame, item, name) if isinstance(item, Class) else None


def iterated(frame: Frame, node: ast.AST, over: Value) -> Value:
    """Return what a loop goes through: of an object of the script what its ``__iter__`` returns, in ``zip`` as well."""
    if over.text in _IN_TURN:
        items = tuple(iterated(frame, node, item) for item in over.items)
        return over if items == over.items else replace(over, items=items)
    begins = own_method(frame, over, "__iter__")
    if begins is None:
        return over
    result = frame.program.follow(frame, begins, over, [], {}, node)
    return result if result.things or result.items else over


def asked(frame: Frame, node: ast.Call, name: str, arguments: dict[str, Argument]) -> Value | None:
    """Return what ``next`` or ``iter`` of an object of the script comes to, ``None`` for all else."""
    first = next(iter(arguments.values()), None)
    if name not in ("next", "iter") or first is None:
        return None
    method = own_method(frame, first.value, f"__{name}__")
    if method is None:
        return None
    return frame.program.follow(frame, method, first.value, [], {}, node)
