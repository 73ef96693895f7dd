"""What nothing in a file calls: what is handed to somebody else, what starts it from elsewhere, and the rest."""

import ast
import re

from msgspec.structs import replace

from gpudoctor.code.classes import kind_of
from gpudoctor.code.definitions import Class, Function, nodes
from gpudoctor.code.entry import STARTING, entry
from gpudoctor.code.following import follow
from gpudoctor.code.names import ancestors, method_of
from gpudoctor.code.program import Frame
from gpudoctor.facts import (
    Condition,
    Known,
    Value,
)


def deferred(frame: Frame) -> None:
    """Go through functions that were handed to somebody who calls them: a launcher's target, a hook."""
    program = frame.program
    while program.deferred:
        value, guard = program.deferred.pop(0)
        item = program.defined.get(value.text)
        plain = program.partials and value.made not in program.partials
        if plain and any(o.text == value.text and o.made in program.partials for o, _ in program.deferred):
            continue  # what functools.partial makes of it, with some of what it takes, is handed over later
        if _of_rank(guard) and any(o.text == value.text and not _of_rank(g) for o, g in program.deferred):
            continue  # ranks hand it over on another way, too
        if isinstance(item, Function) and f"{item.file.name}::{item.name}" not in program.followed:
            self_value = program.holder(value, item)
            caller = Frame(program, item.file)
            caller.conditions = guard
            caller.deferred = True
            ready, keywords = program.partials.get(value.made, ([], {}))
            follow(caller, item, self_value, list(ready), dict(keywords), item.node)


def _of_rank(guard: tuple[Condition, ...]) -> bool:
    """Return whether some ranks alone hand a function over."""
    return any(test.by_rank for test in guard)


def only_defined(frame: Frame) -> None:
    """Go through what the program does not come to: what starts it from elsewhere, then what nobody calls."""
    program, file = frame.program, frame.file
    functions = [
        Function(node.name, node, file)
        for node in file.names.values()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    called = file.called
    started = any(call.method in STARTING for call in program.calls)
    first = None if started else entry(file, functions)
    if first is not None:
        guard = Condition(frame.place(first.node), "__name__ == '__main__'", kind="main")
        _alone(frame, first, None, reached=True, guard=(guard,))
        deferred(frame)
    _called_by_torch(frame)
    classes = [item for item in file.classes if item.node.name == item.name]
    for wanted in (False, True):
        for function in functions:
            if (function.node.name in called) is wanted:
                _alone(frame, function, None)
        for item in classes:
            _methods(frame, item, called if not wanted else None)
    program.deferred.clear()


def _called_by_torch(frame: Frame) -> None:
    """Go through the methods by which a loader asks the data sets and samplers that other files define."""
    program = frame.program
    for thing in program.things[:MOST_OBJECTS]:
        item = program.defined.get(thing.type) if thing.kind in ("dataset", "sampler") else None
        if isinstance(item, Class) and item.file is not frame.file:
            for name in ("__iter__", "__getitem__"):
                method = method_of(frame, item, name)
                if method is not None:
                    _alone(frame, method, Value(Known.THING, thing=thing.number), reached=True)


MOST_OBJECTS = 400
"""Among how many objects is looked for data sets and samplers."""


def _methods(frame: Frame, item: Class, called: frozenset[str] | None) -> None:
    """Go through the methods of a class that the program does not come to."""
    program = frame.program
    missed = [m for m in item.methods() if f"{m.file.name}::{m.name}" not in program.followed]
    if called is not None:
        own = ("forward", "__init__")
        missed = [m for m in missed if m.node.name not in called or m.node.name in own or _wraps(m)]
    if not missed:
        return
    kind = kind_of(frame, item)
    made = next((thing.number for thing in program.things if thing.type == item.name), None)
    if made is None:
        value = program.thing(kind, item.name, frame.place(item.node))
        program.things[value.thing] = replace(program.things[value.thing], made=-1, escapes=True)
        made = value.thing
    self_value = Value(Known.THING, thing=made)
    first = method_of(frame, item, "__init__")
    if first is not None and first in missed:
        missed = [first, *(m for m in missed if m is not first and m != first)]
    missed.sort(key=lambda method: method.node.name != "__init__" and not _wraps(method))
    if called is not None:
        missed += _inherited(frame, item)
    for method in missed:
        reached = item.name in program.instantiated and kind in ("model", "dataset")
        _alone(frame, method, self_value, reached=reached)


def _inherited(frame: Frame, item: Class) -> list[Function]:
    """Return what a class takes over from one of another file, and does not call itself: to save, to load, to train."""
    known = {method.node.name for method in item.methods()}
    found: list[Function] = []
    for parent in ancestors(frame, item):
        for method in parent.methods() if parent.file is not item.file else ():
            if method.node.name not in known and _tells(method):
                found.append(method)
            known.add(method.node.name)
    return found


SAVING = re.compile(r"torch\.(?:save|load)\(|\.backward\(|DataLoader\(|Parallel\(|Sampler\(|\bdist\.\w+\(")
"""What stands in a method for which a class of another file is gone through for each class that stands on it."""


def _tells(method: Function) -> bool:
    """Return whether a method does something that checks look for."""
    node = method.node
    known = method.file.telling.get(node)
    if known is None:
        body = "\n".join(method.file.source.lines[node.lineno - 1 : node.end_lineno])
        known = method.file.telling[node] = SAVING.search(body) is not None
    return known


def _wraps(method: Function) -> bool:
    """Return whether a method wraps a model: what others do with it comes later than that."""
    if not method.file.wraps:
        return False
    return any(
        "Parallel" in (node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", ""))
        for node in nodes(method.node)
    )


def _alone(
    frame: Frame, function: Function, self_value: Value | None, *, reached: bool = False,
    guard: tuple[Condition, ...] = (),
) -> None:  # fmt: skip
    program = frame.program
    if f"{function.file.name}::{function.name}" in program.followed:
        return
    apart = Frame(program, function.file)
    apart.depth, apart.reached, apart.conditions = 1, reached, guard
    parameters = [*function.node.args.posonlyargs, *function.node.args.args]
    names = {d.id for d in function.node.decorator_list if isinstance(d, ast.Name)}
    if self_value is not None and ("staticmethod" in names or not parameters):
        self_value = None
    program.escape(follow(apart, function, self_value, [], {}, function.node))
