"""A call of something that the script defines: recorded, and followed."""

import ast

from msgspec.structs import replace

from gpudoctor.code.agreement import SAME_EVERYWHERE, reduced
from gpudoctor.code.classes import kind_of
from gpudoctor.code.definitions import Class, Function
from gpudoctor.code.dictionaries import fields
from gpudoctor.code.known_calls import named
from gpudoctor.code.names import ancestors, method_of
from gpudoctor.code.program import Frame
from gpudoctor.facts import UNKNOWN, WRAPPERS, Argument, Known, Value


def own_call(frame: Frame, value: Value) -> Function | None:
    """Return the ``__call__`` of an object of the script, ``None`` where it has none of its own."""
    item = frame.program.defined.get(frame.program.things[value.thing].type)
    return method_of(frame, item, "__call__") if isinstance(item, Class) else None


def own_function(
    frame: Frame,
    node: ast.Call,
    function: Function,
    receiver: Value,
    positional: list[Argument],
    keywords: dict[str, Argument],
    *,
    starred: bool,
    used: bool,
) -> Value:
    """Record and follow a call of a function of the script."""
    given = function.node.args
    names = [parameter.arg for parameter in (*given.posonlyargs, *given.args)]
    names = names[1:] if function.owner is not None and receiver.things else names
    arguments = {
        names[n] if n < len(names) else str(n): argument for n, argument in enumerate(positional)
    } | keywords
    name = frame.program.name_of(function)
    frame.record(
        name,
        node,
        text=frame.text(node.func),
        arguments=arguments,
        starred=starred,
        receiver=receiver,
        used=used,
    )
    self_value = None
    if function.owner is not None:
        things = receiver.things
        own = [
            n for n in things if frame.program.things[n].kind not in WRAPPERS
        ] or things  # a wrapper has no such method
        self_value = Value(Known.THING, thing=own[0]) if own else receiver
        decorators = {d.id for d in function.node.decorator_list if isinstance(d, ast.Name)}
        if "staticmethod" in decorators:
            self_value = None
        elif (
            not things and receiver.known is Known.DEFINED and "classmethod" not in decorators and positional
        ):
            self_value, positional = positional[0].value, positional[1:]
    first = len(frame.program.calls)
    outcome = frame.program.follow(frame, function, self_value, positional, keywords, node)
    if any(call.name in SAME_EVERYWHERE for call in frame.program.calls[first:]):
        outcome = reduced(frame, node, outcome, function.node.name)
    return outcome


def instance(
    frame: Frame,
    node: ast.Call,
    item: Class,
    positional: list[Argument],
    keywords: dict[str, Argument],
    *,
    starred: bool,
    used: bool,
) -> Value:
    """Record the making of an object of one of the script's classes, and follow its ``__init__``."""
    program = frame.program
    kind = kind_of(frame, item)
    name = frame.program.name_of(item)
    arguments = named("", "", positional, keywords)
    inner = -1
    if kind in ("dataset", "loader", "sampler", *WRAPPERS):
        inner = next((t for a in arguments.values() for t in a.value.things), -1)
    value = program.thing(kind, name, frame.place(node), inner)
    frame.record(
        name, node, text=frame.text(node.func), arguments=arguments, starred=starred, result=value, used=used
    )
    program.instantiated.add(name)
    init = method_of(frame, item, "__init__")
    if init is not None:
        program.follow(frame, init, Value(Known.THING, thing=value.thing), positional, keywords, node)
    elif _has_fields(item):
        body = item.node.body
        names = [n.target.id for n in body if isinstance(n, ast.AnnAssign) and isinstance(n.target, ast.Name)]
        given = {**dict(zip(names, positional, strict=False)), **keywords}
        fields(frame, value.thing, {name: argument.value for name, argument in given.items()})
        fields(frame, value.thing, {f"[{n}]": argument.value for n, argument in enumerate(given.values())})
    for argument in arguments.values():
        if kind not in ("instance", "model", "dataset", "sampler", *WRAPPERS):
            program.escape(argument.value)
    return value


_FIELDS = ("dataclass", "attr.s", "attrs", "define", "NamedTuple", "BaseModel", "Struct")
"""What makes a class whose arguments are the fields that its body names."""


def _has_fields(item: Class) -> bool:
    """Return whether a class takes its annotated attributes: a dataclass, a named tuple and the like."""
    parts = [ast.unparse(part) for part in (*item.node.decorator_list, *item.node.bases)]
    return any(word in part for part in parts for word in _FIELDS)


def inherited(
    frame: Frame,
    node: ast.Call,
    method: str,
    receiver: Value,
    positional: list[Argument],
    keywords: dict[str, Argument],
) -> Value:
    """Record and follow a call of an inherited method."""
    owner = frame.owner
    found = None
    if owner is not None:
        methods = (one for parent in ancestors(frame, owner) for one in parent.methods())
        found = next((one for one in methods if one.node.name == method), None)
    arguments = named("", "", positional, keywords)
    frame.record(f"super.{method}", node, text=f"super().{method}", arguments=arguments, receiver=receiver)
    if found is not None:
        return frame.program.follow(frame, found, receiver, positional, keywords, node)
    if method == "__init__" and frame.program.kind(receiver) == "loader":
        _made_as(frame, receiver.thing, named(LOADER, method, positional, keywords))
    return UNKNOWN


LOADER = "torch.utils.data.DataLoader"


def _made_as(frame: Frame, loader: int, given: dict[str, Argument]) -> None:
    """Let the call that makes an object of the script's own class of loaders have what torch's class is given there."""
    program = frame.program
    thing = program.things[loader]
    data = next((t for t in given["dataset"].value.things), -1) if "dataset" in given else -1
    program.things[loader] = replace(thing, inner=data if data >= 0 else thing.inner)
    if 0 <= thing.made < len(program.calls):
        made = program.calls[thing.made]
        program.calls[thing.made] = replace(made, arguments={**made.arguments, **given})
