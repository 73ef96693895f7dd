"""What a call does: it is recorded, and followed where its function is the script's own."""

import ast

from msgspec.structs import replace

from gpudoctor.code.by_method import told_by_method
from gpudoctor.code.changes import changes
from gpudoctor.code.consequences import PROCESS, called_at_once, handed_over, started
from gpudoctor.code.creation import NAMED_TUPLE, made
from gpudoctor.code.definitions import Class, Function
from gpudoctor.code.dictionaries import fields
from gpudoctor.code.iteration import asked, builtin
from gpudoctor.code.known_calls import canonical, named
from gpudoctor.code.names import member
from gpudoctor.code.own_calls import inherited, instance, own_call, own_function
from gpudoctor.code.program import Frame
from gpudoctor.code.results import result_of
from gpudoctor.facts import UNKNOWN, WRAPPERS, Argument, Condition, Known, Value


def perform(
    frame: Frame,
    node: ast.Call,
    callee: Value,
    receiver: Value,
    attribute: str,
    positional: list[Argument],
    keywords: dict[str, Argument],
    *,
    starred: bool,
    used: bool,
) -> Value:
    """Record a call, follow it where that can be done, and return what it comes to."""
    program = frame.program
    outside = frame.conditions
    if callee.known is Known.CHOICE:
        callee = _one(frame, callee)
        if callee.known is Known.SYMBOL or isinstance(program.defined.get(callee.text), Class):
            # ``kind = Plain if alone else Shared``: what the one does may be left out
            which = Condition(frame.place(node), f"{frame.text(node.func)} is {callee.text}")
            frame.conditions = (*outside, which)
    try:
        return _performed(
            frame, node, callee, receiver, attribute, positional, keywords, starred=starred, used=used
        )
    finally:
        frame.conditions = outside


def _performed(
    frame: Frame,
    node: ast.Call,
    callee: Value,
    receiver: Value,
    attribute: str,
    positional: list[Argument],
    keywords: dict[str, Argument],
    *,
    starred: bool,
    used: bool,
) -> Value:
    """Record a call of one thing, follow it where that can be done, and return what it comes to."""
    program = frame.program
    if callee.made in program.partials:
        before, given = program.partials[callee.made]
        positional, keywords = [*before, *positional], {**given, **keywords}
    if (
        attribute
        and callee.known is Known.UNKNOWN
        and (known := told_by_method(frame, node, receiver, attribute))
    ):
        receiver, callee = known, member(frame, known, attribute)
    if callee.known is Known.DEFINED:
        item = program.defined.get(callee.text)
        if isinstance(item, Function):
            return own_function(frame, node, item, receiver, positional, keywords, starred=starred, used=used)
        if isinstance(item, Class):
            return instance(frame, node, item, positional, keywords, starred=starred, used=used)
    if attribute.startswith("super.") and frame.owner is not None:
        return inherited(frame, node, attribute[6:], receiver, positional, keywords)
    if callee.thing >= 0:
        receiver, attribute = callee, "__call__"
        own = own_call(frame, callee)
        if own is not None:
            return own_function(frame, node, own, receiver, positional, keywords, starred=starred, used=used)
    name = _name(frame, callee, receiver, attribute)
    if means := builtin(frame, receiver, attribute):
        positional = [Argument(receiver, frame.place(node.func), frame.text(node.func).rpartition(".")[0])]
        name, receiver, attribute = means, UNKNOWN, ""
    if name == "map" and len(positional) == 2 and (each := _mapped(frame, node, positional, used=used)):
        return each
    arguments = named(name, attribute, positional, keywords)
    if callee.text == NAMED_TUPLE:
        outcome = _named_tuple(frame, node, callee, positional, keywords)
    else:
        outcome = _library_call(frame, node, callee, receiver, attribute, name, arguments)
    if starred and outcome.known is Known.MAPPING:
        outcome = replace(outcome, literal=None)
    number = frame.record(
        name,
        node,
        text=frame.text(node.func),
        arguments=arguments,
        starred=starred,
        receiver=receiver,
        result=outcome,
        used=used,
    )
    if name == "functools.partial" and positional:
        program.partials[number] = (positional[1:], keywords)
        outcome = replace(_one(frame, positional[0].value), made=number)
    taken = changes(frame, node, name, attribute, receiver, arguments, number)
    started(frame, node, name, arguments)
    if not taken and callee.text != NAMED_TUPLE:
        handed_over(frame, name, arguments, receiver)
    if outcome.known is Known.TENSOR or (outcome.known is Known.UNKNOWN and outcome.made < 0):
        outcome = replace(outcome, made=number)
    return outcome


def _mapped(frame: Frame, node: ast.Call, given: list[Argument], *, used: bool) -> Value | None:
    """Return what ``map`` makes of objects of the script, one call for each; ``None`` for all else."""
    function, over = given[0].value, given[1].value
    if (
        over.known is not Known.SEQUENCE
        or over.text
        or not any(item.things for item in over.items[:MOST_MAPPED])
    ):
        return None
    made = tuple(
        perform(
            frame, node, function, UNKNOWN, "", [replace(given[1], value=item)], {}, starred=False, used=used
        )
        for item in over.items[:MOST_MAPPED]
    )
    return Value(Known.SEQUENCE, items=made)


MOST_MAPPED = 8
"""For how many objects ``map`` is followed."""


def _library_call(
    frame: Frame,
    node: ast.Call,
    callee: Value,
    receiver: Value,
    attribute: str,
    name: str,
    arguments: dict[str, Argument],
) -> Value:
    """Return what a call of something that the script does not define comes to."""
    outcome = called_at_once(frame, node, name, attribute, arguments) or asked(frame, node, name, arguments)
    if outcome is None:
        outcome = made(frame, node, name, arguments, receiver, attribute)
    if outcome is None:
        outcome = result_of(frame, name, attribute, arguments, receiver)
    return callee.items[0] if callee.text == "<lambda>" and callee.items else outcome


def _named_tuple(
    frame: Frame, node: ast.Call, callee: Value, positional: list[Argument], keywords: dict[str, Argument]
) -> Value:
    """Return an object whose attributes, and items, are what a named tuple was given."""
    names = [str(item.literal) for item in callee.items]
    given = {**dict(zip(names, positional, strict=False)), **keywords}
    value = frame.program.thing("instance", NAMED_TUPLE, frame.place(node))
    for number, (name, argument) in enumerate(given.items()):
        fields(frame, value.thing, {name: argument.value, f"[{number}]": argument.value})
    return value


def _one(frame: Frame, callee: Value) -> Value:
    """Return what is called, of several the first that says something: a wrapper before what it is around."""
    if callee.known is not Known.CHOICE:
        return callee
    wrappers = [v for v in callee.possible() if frame.program.kind(v) in WRAPPERS]
    if wrappers:
        inside = {frame.program.things[wrapper.thing].inner for wrapper in wrappers}
        outer = [wrapper for wrapper in wrappers if wrapper.thing not in inside] or wrappers
        # A compiled model is mostly what another wrapper was, or would be, given.
        return next((wrapper for wrapper in outer if frame.program.kind(wrapper) != "compiled"), outer[0])
    for known in (Known.DEFINED, Known.THING, Known.SYMBOL):
        found = [value for value in callee.possible() if value.known is known]
        if found:  # of two libraries torch's, which is there
            of_torch = [value for value in found if value.text.startswith("torch.")] or found
            return next((value for value in of_torch if "Distributed" in value.text), of_torch[0])
    return callee


def _name(frame: Frame, callee: Value, receiver: Value, attribute: str) -> str:
    things = receiver.things
    if things:
        thing = frame.program.things[things[0]]
        if thing.type == "multiprocessing.get_context" and attribute == "Process":
            return PROCESS
        return f"{thing.type}.{attribute}"
    if callee.known is Known.SYMBOL:
        return canonical(callee.text)
    if receiver.known is Known.TENSOR:
        return f"torch.Tensor.{attribute}"
    if attribute:
        return f".{attribute}"
    return callee.text or "?"
