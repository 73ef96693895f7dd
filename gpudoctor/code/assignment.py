"""Names, attributes and items that get a value."""

import ast

from msgspec.structs import replace

from gpudoctor.code.arithmetic import combined, is_text, part_of
from gpudoctor.code.attributes import of_others
from gpudoctor.code.configurations import as_configuration
from gpudoctor.code.dictionaries import filled, opened, removed
from gpudoctor.code.environment_variables import told
from gpudoctor.code.expressions import evaluate
from gpudoctor.code.program import Frame, one_of
from gpudoctor.facts import UNKNOWN, Argument, Known, Value


def assignment(frame: Frame, node: ast.Assign) -> None:
    """Follow an assignment."""
    value = evaluate(frame, node.value)
    for target in node.targets:
        assign(frame, target, value)


def annotated(frame: Frame, node: ast.AnnAssign) -> None:
    """Follow an assignment with an annotation."""
    if node.value is not None:
        assign(frame, node.target, evaluate(frame, node.value))


def augmented(frame: Frame, node: ast.AugAssign) -> None:
    """Follow ``x += ...``, and record it."""
    before, value = evaluate(frame, node.target), evaluate(frame, node.value)
    known = Known.TENSOR if Known.TENSOR in (before.known, value.known) else Known.UNKNOWN
    if before.known in (Known.SEQUENCE, Known.RANK):
        known = before.known
    by_rank, from_data = before.by_rank or value.by_rank, before.from_data or value.from_data
    texts = list(before.possible())
    if isinstance(node.op, ast.Add) and all(is_text(text) for text in texts):
        result = one_of([combined(text, node.op, value) for text in texts])
    else:
        result = Value(
            known,
            text="+=",
            items=(before, value) if _depth(before) < MOST_ADDED else (),
            by_rank=by_rank,
            from_data=from_data,
        )
    frame.record("<augmented>", node, text=frame.text(node.target), receiver=before, result=result, arguments={
        "value": Argument(value, frame.place(node.value), frame.text(node.value))
    })  # fmt: skip
    assign(frame, node.target, result, quiet=True)


MOST_ADDED = 8
"""How many times something may be added before what it was made of is given up."""


def _depth(value: Value) -> int:
    depth = 0
    while value.items and depth < MOST_ADDED:
        value, depth = value.items[0], depth + 1
    return depth


def assign(frame: Frame, target: ast.expr, value: Value, *, quiet: bool = False) -> None:
    """Give a target a value."""
    if isinstance(target, ast.Name):
        frame.bind(target.id, as_configuration(frame, target.id, _as_called(target.id, value)))
    elif isinstance(target, (ast.Tuple, ast.List)):
        plain = value.known is Known.SEQUENCE and not value.text and len(value.items) == len(target.elts)
        pairs = _pairs(value, len(target.elts)) or _fields(frame, value, len(target.elts))
        for number, element in enumerate(target.elts):
            item = pairs[number] if pairs else value.items[number] if plain else _element(value)
            assign(frame, element.value if isinstance(element, ast.Starred) else element, item, quiet=quiet)
    elif isinstance(target, ast.Attribute):
        holder = evaluate(frame, target.value)
        for thing in holder.things:
            frame.program.hold(thing, target.attr, _decided(frame, value))
        if not holder.things and holder.known is not Known.SYMBOL:
            frame.program.escape(value)
        if not quiet:
            name = holder.text if holder.known is Known.SYMBOL else frame.text(target.value)
            frame.record(
                f"{name}.{target.attr}.__set__", target, text=frame.text(target), receiver=holder, arguments={
                    "value": Argument(value, frame.place(target), "")
                }
            )  # fmt: skip
    elif isinstance(target, ast.Subscript):
        holder, key = evaluate(frame, target.value), evaluate(frame, target.slice)
        for thing in holder.things:
            frame.program.hold(thing, f"[{key.literal!r}]", value)
        if key.is_literal and isinstance(key.literal, (str, int)):
            filled(frame, target.value, holder, {key.literal: value})
        elif holder.known is Known.MAPPING:
            opened(frame, target.value, holder, value)
        name = holder.text if holder.known is Known.SYMBOL else frame.text(target.value)
        frame.record(
            f"{name}.__setitem__", target, text=frame.text(target), receiver=holder, arguments={
                "key": Argument(key, frame.place(target.slice), frame.text(target.slice)),
                "value": Argument(value, frame.place(target), ""),
            }
        )  # fmt: skip


def _as_called(name: str, value: Value) -> Value:
    """Return what a name holds that a function of another file hands over: ``rank, world_size = setup()``."""
    if (
        value.known is not Known.UNKNOWN
        or (value.made < 0 and not value.items)
        or value.by_rank
        or value.from_data
    ):
        return value
    source = value.items[0] if not value.text and len(value.items) == 1 else value
    return (told(name) if source.made >= 0 and of_others(source.text) else None) or value


def _pairs(value: Value, size: int) -> list[Value]:
    """Return the elements of what is one of several sequences of a size, each one of several; empty for all else."""
    items = value.items if value.known is Known.CHOICE else ()
    if not items or any(i.known is not Known.SEQUENCE or i.text or len(i.items) != size for i in items):
        return []
    pairs = [one_of([item.items[number] for item in items]) for number in range(size)]
    if not value.from_data:
        return pairs
    return [replace(pair, from_data=True) if pair.known is Known.CHOICE else pair for pair in pairs]


def _fields(frame: Frame, value: Value, size: int) -> list[Value]:
    """Return what a named tuple of a size holds, empty for all else."""
    if value.thing < 0:
        return []
    found = [frame.program.heap.get((value.thing, f"[{number}]")) for number in range(size)]
    return [item for item in found if item is not None] if None not in found else []


def _decided(frame: Frame, value: Value) -> Value:
    """Return what an attribute holds: a flag or a count that a test of a rank's own data changes comes from them."""
    if value.from_data or not (type(value.literal) in (bool, int) or value.text == "+="):
        return value
    here = frame.conditions[frame.base :]
    flag = isinstance(value.literal, bool) and any(c.from_data for c in frame.conditions)
    if flag or any(c.from_data and not c.early for c in here):
        return replace(value, from_data=True)
    return value


def _element(value: Value) -> Value:
    if value.known in (Known.TENSOR, Known.INDEX):
        return value
    if value.known is Known.SEQUENCE and value.text == "comprehension":
        return value.items[0]
    if value.thing >= 0:
        return UNKNOWN
    return part_of(value)


def delete(frame: Frame, node: ast.Delete) -> None:
    """Forget names, and entries of dictionaries."""
    for target in node.targets:
        if isinstance(target, ast.Name):
            frame.names.pop(target.id, None)
        elif isinstance(target, ast.Subscript):
            holder, key = evaluate(frame, target.value), evaluate(frame, target.slice)
            if key.is_literal:
                removed(frame, target.value, holder, key.literal)
