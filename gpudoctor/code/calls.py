"""What a call does: it is recorded, and followed where its function is the script's own."""

import ast

from msgspec.structs import replace

from gpudoctor.code import dictionaries
from gpudoctor.code.agreement import SAME_EVERYWHERE, agreed, reduced
from gpudoctor.code.by_method import told_by_method
from gpudoctor.code.classes import kind_of
from gpudoctor.code.consequences import PROCESS, called_at_once, handed_over, started
from gpudoctor.code.creation import NAMED_TUPLE, made
from gpudoctor.code.definitions import Class, Function
from gpudoctor.code.dictionaries import appended, fields, removed, set_by_name, updated
from gpudoctor.code.iteration import asked, builtin
from gpudoctor.code.known_calls import METHODS, canonical, parameters
from gpudoctor.code.names import ancestors, member, method_of
from gpudoctor.code.program import Frame
from gpudoctor.code.results import SHUFFLED, result_of
from gpudoctor.facts import UNKNOWN, WRAPPERS, Argument, Known, Value

SHUFFLES = ("random.shuffle", "numpy.random.shuffle")
"""Functions that put a list into another order, in place."""


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
    callee = _one(frame, callee)
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
            return _own_function(
                frame, node, item, receiver, positional, keywords, starred=starred, used=used
            )
        if isinstance(item, Class):
            return _instance(frame, node, item, positional, keywords, starred=starred, used=used)
    if attribute.startswith("super.") and frame.owner is not None:
        return _super(frame, node, attribute[6:], receiver, positional, keywords)
    if callee.thing >= 0:
        receiver, attribute = callee, "__call__"
        own = _own_call(frame, callee)
        if own is not None:
            return _own_function(frame, node, own, receiver, positional, keywords, starred=starred, used=used)
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
    taken = _changes(frame, node, name, attribute, receiver, arguments, number)
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


def _changes(
    frame: Frame,
    node: ast.Call,
    name: str,
    attribute: str,
    receiver: Value,
    arguments: dict[str, Argument],
    number: int,
) -> bool:
    """Note what a call changes in names, variables and containers; return whether it set attributes by name."""
    if name == "os.environ.update":
        _variables_set(frame, node, arguments)
    if name in SAME_EVERYWHERE and node.args:
        agreed(frame, node.args[0])
    if name in SHUFFLES and node.args and isinstance(node.args[0], ast.Name):
        frame.bind(node.args[0].id, Value(text=SHUFFLED, made=number))
    by_name = name == "setattr" or attribute == "update"
    taken = by_name and set_by_name(frame, node, name, arguments)
    if isinstance(node.func, ast.Attribute):
        if attribute == "update" and receiver.known is Known.MAPPING:
            updated(frame, node.func.value, receiver, arguments)
        if attribute == "pop" and (first := arguments.get("0")) and first.value.is_literal:
            removed(frame, node.func.value, receiver, first.value.literal)
        if attribute in ("append", "extend") and receiver.known is Known.SEQUENCE:
            appended(frame, node.func.value, receiver, arguments)
    return taken


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


def named(
    name: str, attribute: str, positional: list[Argument], keywords: dict[str, Argument]
) -> dict[str, Argument]:
    """Return arguments by their parameters' names, where the function is known, else by number."""
    names = parameters(name) or METHODS.get(attribute) or []
    found = {names[n] if n < len(names) else str(n): argument for n, argument in enumerate(positional)}
    found.update(keywords)
    return found


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
            return next((value for value in found if value.text.startswith("torch.")), found[0])
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


def _own_call(frame: Frame, value: Value) -> Function | None:
    item = frame.program.defined.get(frame.program.things[value.thing].type)
    return method_of(frame, item, "__call__") if isinstance(item, Class) else None


def _own_function(
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
        outcome = reduced(frame, node, outcome)
    return outcome


def _instance(
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


def _super(
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


def _variables_set(frame: Frame, node: ast.Call, arguments: dict[str, Argument]) -> None:
    """Record what ``os.environ.update`` sets, as if each variable were assigned."""
    first = arguments.get("0")
    given = {key: argument for key, argument in arguments.items() if key != "0"}
    if first is not None and dictionaries.known(first.value):
        pairs = zip(first.value.literal, first.value.items, strict=True)
        given.update({str(key): Argument(value, first.place, "") for key, value in pairs})
    for key, argument in given.items():
        name = Argument(Value(Known.LITERAL, key), argument.place, repr(key))
        frame.record(
            "os.environ.__setitem__", node, text="os.environ", arguments={"key": name, "value": argument}
        )
