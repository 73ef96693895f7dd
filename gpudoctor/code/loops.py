"""Loops: what they go through, and their bodies, once."""

import ast

from msgspec.structs import replace

from gpudoctor.code.assignment import assign
from gpudoctor.code.carried import carried
from gpudoctor.code.definitions import nodes
from gpudoctor.code.expressions import evaluate
from gpudoctor.code.iteration import iterated
from gpudoctor.code.program import Frame, either, one_of
from gpudoctor.facts import CHANGES, WHOLE, Condition, Known, Loop, Value

_LOADERS = ("loader", "dataloader", "data_iter", "train_iter")


def for_loop(frame: Frame, node: ast.For | ast.AsyncFor) -> None:
    """Go through a ``for`` loop."""
    over = iterated(frame, node, evaluate(frame, node.iter))
    loop = _loop(frame, node, over)
    each = _by_name(node, over) or _one_by_one(frame, node, over)
    for element in each:
        assign(frame, node.target, element, quiet=True)
        _body(frame, loop, node.body, frame.text(node.iter), node.target)
    if not each:
        _bind_elements(frame, node, over, loop.kind)
        _body(frame, loop, node.body, frame.text(node.iter), node.target)
    frame.program.execute(frame, node.orelse)


MOST_NAMES = 8
"""How many names a loop that asks for attributes by them is gone through for."""


def _by_name(node: ast.For | ast.AsyncFor, over: Value) -> tuple[Value, ...]:
    """Return the names that a loop goes through to ask for attributes or variables by them, empty for any other."""
    held = over.items if over.known is Known.SEQUENCE and not over.text else ()
    if over.known is Known.MAPPING and isinstance(over.literal, tuple):
        held = tuple(Value(Known.LITERAL, key) for key in over.literal)
    plain = len(held) <= MOST_NAMES and all(isinstance(name.literal, str) for name in held)
    return held if held and (plain or len(node.body) == 1) and _by_attribute(node) else ()


MOST_HOOKS = 8
"""Of how many objects of the script a loop over them is gone through for each."""
MOST_STATEMENTS = 4


def _one_by_one(frame: Frame, node: ast.For | ast.AsyncFor, over: Value) -> tuple[Value, ...]:
    """Return the objects of the script that a short loop goes through, as over hooks; empty for any other loop."""
    held = over.items if over.known is Known.SEQUENCE and not over.text else ()
    if not 1 < len(held) <= MOST_HOOKS or len(node.body) > MOST_STATEMENTS:
        return ()
    own = all(v.thing >= 0 and frame.program.things[v.thing].kind == "instance" for v in held)
    return held if own and isinstance(node.target, ast.Name) else ()


def _by_attribute(node: ast.For | ast.AsyncFor) -> bool:
    """Return whether a loop's body asks for attributes by computed names, or sets them, or for variables."""
    return any(
        (isinstance(part, ast.Name) and part.id in ("getattr", "setattr", "getenv", "environ"))
        or (isinstance(part, ast.Attribute) and part.attr in ("getenv", "environ"))
        for part in nodes(node)
    )


def _loop(frame: Frame, node: ast.For | ast.AsyncFor, over: Value) -> Loop:
    names = [n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)]
    text = frame.text(node.iter).lower()
    loader = _loader(frame, over)
    kind = "for"
    if loader is not None:
        kind = "batch"
    elif (
        any("epoch" in name.lower() for name in names)
        or "epoch" in text
        or (over.known is Known.INDEX and names[:1] in (["e"], ["ep"]))
    ):
        kind = "epoch"
    elif any(word in text for word in _LOADERS):
        kind = "batch"
    return Loop(
        frame.place(node),
        kind,
        loader if loader is not None else over,
        names[0] if names else "",
        frame.scope,
    )


def _loader(frame: Frame, value: Value) -> Value | None:
    """Return the loader that an iterable goes through, itself or what enumerate, zip and their like are given."""
    for item in value.possible():
        if frame.program.kind(item) == "loader":
            return item
    for item in value.items:
        found = _loader(frame, item)
        if found is not None:
            return found
    return None


def _same_for_all(frame: Frame, over: Value) -> bool:
    """Return whether every rank gets the same batches: nothing splits the loader, or shuffles it."""
    loader = _loader(frame, over)
    if loader is None or len(loader.things) != 1:
        return False
    made = frame.program.things[loader.thing].made
    call = frame.program.calls[made] if 0 <= made < len(frame.program.calls) else None
    if call is None or call.name != "torch.utils.data.DataLoader" or call.starred:
        return False
    data = call.value("dataset")
    if (
        any(name in call.arguments for name in ("sampler", "batch_sampler"))
        or not data.things
        or data.by_rank
    ):
        return False
    return "shuffle" not in call.arguments or call.value("shuffle").literal is False


def _bind_elements(frame: Frame, node: ast.For | ast.AsyncFor, over: Value, kind: str) -> None:
    element = Value(by_rank=over.by_rank, from_data=over.from_data)
    if kind == "batch":
        same = _same_for_all(frame, over)
        element = Value(Known.TENSOR, WHOLE if same else None, from_data=not same)
    elif over.known is Known.INDEX:
        element = over
    elif over.known is Known.SEQUENCE and over.items:
        element = one_of(list(over.items))
    elif over.text == "enumerate" and over.items and over.items[0].known is Known.SEQUENCE:
        element = one_of(list(over.items[0].items))
    if over.text == "enumerate" and isinstance(node.target, ast.Tuple) and len(node.target.elts) == 2:
        assign(frame, node.target.elts[0], Value(Known.INDEX), quiet=True)
        assign(frame, node.target.elts[1], element, quiet=True)
    else:
        assign(frame, node.target, element, quiet=True)


def while_loop(frame: Frame, node: ast.While) -> None:
    """Go through a ``while`` loop."""
    value = evaluate(frame, node.test)
    text = frame.text(node.test)
    kind = "epoch" if "epoch" in text.lower() else "while"
    outside = frame.conditions
    if not isinstance(node.test, ast.Constant):
        frame.conditions = (
            *outside,
            Condition(frame.place(node.test), text, value, loops=len(frame.loops), kind="while"),
        )
    _body(frame, Loop(frame.place(node), kind, value, "", frame.scope), node.body, text, node.test)
    frame.conditions = outside
    frame.program.execute(frame, node.orelse)


def _body(frame: Frame, loop: Loop, body: list[ast.stmt], text: str, head: ast.expr) -> None:
    """Go through a loop's body once; what it assigns may not be assigned where it runs no time."""
    loops, conditions, outer = frame.loops, frame.conditions, frame.broken
    frame.loops, frame.broken = (*loops, loop), []
    frame.record("<loop>", body[0], text=text, receiver=loop.over)
    for name in _changed(frame, body):
        held = frame.names.get(name)
        if held is not None and held.is_literal and type(held.literal) is int:
            frame.names[name] = replace(held, text=CHANGES)
    before = dict(frame.names)
    frame.program.execute(frame, body)
    for name, statement in carried(body, head):
        frame.record("<carried>", statement, text=name)
    for names in frame.broken:
        _rejoin(frame, before, names)
    frame.loops, frame.conditions, frame.broken = loops, conditions, outer


def _changed(frame: Frame, body: list[ast.stmt]) -> frozenset[str]:
    """Return the names that a loop's body gives a value."""
    known = frame.file.changed
    if body[0] not in known:
        stored = (part for node in body for part in nodes(node))
        known[body[0]] = frozenset(
            part.id for part in stored if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)
        )
    return known[body[0]]


def _rejoin(frame: Frame, before: dict[str, Value], names: dict[str, Value]) -> None:
    """Give names what they hold after a loop that was left early, where its last pass gave them a value: either."""
    for name, value in names.items():
        held = frame.names.get(name)
        if value is not before.get(name) and value is not held:
            frame.names[name] = either(held, value)
