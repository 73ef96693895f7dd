"""What operators make of values: tests for a rank, devices in strings, and where a value comes from."""

import ast
import re
import string

from gpudoctor.code.program import mixed
from gpudoctor.facts import Known, Value

_CONVERSION = re.compile(r"%(?:\(\w+\))?[-+ #0]*[\d*]*(?:\.[\d*]+)?[a-zA-Z]")
"""A place in a text that ``%`` fills."""


def united(values: list[Value]) -> Value:
    """Return an unknown value that depends on several."""
    by_rank, from_data = mixed(values)
    return Value(by_rank=by_rank, from_data=from_data)


def part_of(value: Value) -> Value:
    """Return an element or an attribute of what is not known itself: it comes from what the whole comes from."""
    origin = value.made >= 0 or (bool(value.items) and value.known in (Known.UNKNOWN, Known.TENSOR))
    return Value(items=(value,) if origin else (), by_rank=value.by_rank, from_data=value.from_data)


def negated(value: Value, operator: ast.unaryop) -> Value:
    """Return what ``not x``, ``-x`` and their like come to."""
    if isinstance(operator, ast.Not):
        if value.known is Known.RANK or value.known is Known.LOCAL_RANK:
            return Value(items=(value,), by_rank=True, sole=0)
        return Value(
            items=value.items,
            by_rank=value.by_rank,
            from_data=value.from_data,
            sole=value.all_but,
            all_but=value.sole,
        )
    if isinstance(operator, ast.USub) and value.is_literal and isinstance(value.literal, (int, float)):
        return Value(Known.LITERAL, -value.literal)
    return value if value.known is Known.TENSOR else Value(by_rank=value.by_rank, from_data=value.from_data)


def tested(value: Value) -> Value:
    """Return what a value says where it is a test itself: ``if rank:`` does not hold on rank 0."""
    if value.known in (Known.RANK, Known.LOCAL_RANK):
        return Value(items=(value,), by_rank=True, from_data=value.from_data, all_but=0)
    return value


def present(test: Value, then: Value | None, otherwise: Value | None) -> tuple[int | None, int | None]:
    """Return on which rank alone a value is there, or missing, that a test decides: ``A() if rank == 0 else None``."""
    if then is None or otherwise is None:
        return None, None
    if otherwise.is_none and then.things:
        return test.sole, test.all_but
    if then.is_none and otherwise.things:
        return test.all_but, test.sole
    return None, None


def combined(left: Value, operator: ast.operator, right: Value) -> Value:
    """Return what a binary operator makes of two values."""
    if left.is_literal and right.is_literal:
        return _folded(left.literal, operator, right.literal)
    if isinstance(operator, ast.Add) and (is_text(left) or is_text(right)):
        return formatted([*_parts(left), *_parts(right)])
    if isinstance(left.literal, str) and isinstance(operator, ast.Mod):
        return _filled(left.literal, right)
    by_rank, from_data = left.by_rank or right.by_rank, left.from_data or right.from_data
    if left.known is right.known is Known.SEQUENCE and isinstance(operator, ast.Add):
        return Value(Known.SEQUENCE, items=(*left.items, *right.items), by_rank=by_rank, from_data=from_data)
    if Known.TENSOR in (left.known, right.known):
        leaves = (Known.TENSOR, Known.LITERAL)
        operands = tuple(v for v in (left, right) if v.made >= 0 or v.items or v.known not in leaves)
        return Value(Known.TENSOR, items=operands, by_rank=by_rank, from_data=from_data)
    if isinstance(operator, ast.Mod) and left.is_rank:
        return Value(Known.LOCAL_RANK, text="%", by_rank=True)
    if isinstance(operator, (ast.Add, ast.Mult)) and (left.is_rank or right.is_rank):
        # rank = node_rank * gpus + local_rank
        parts = {left.known, right.known}
        both = left.is_rank and right.is_rank
        texts = (left.text, right.text)
        scaled = "computed" in texts or (
            isinstance(operator, ast.Add) and "Mult" in texts
        )  # node_rank * gpus, and what is counted within a node
        if both or scaled or isinstance(operator, ast.Mult) or parts & {Known.NODE_RANK, Known.INDEX}:
            return Value(Known.RANK, text="computed", items=(left, right), by_rank=True)
    return Value(items=(left, right), text=type(operator).__name__, by_rank=by_rank, from_data=from_data)


def is_text(value: Value) -> bool:
    """Return whether a value is a string, written out or formatted."""
    return (isinstance(value.literal, str) and value.is_literal) or "{}" in value.text


def _parts(value: Value) -> list[str | Value]:
    """Return the texts and values of a formatted string in their order, or the value itself."""
    if value.is_literal and isinstance(value.literal, str):
        return [value.literal]
    texts = value.text.split("{}")
    if len(texts) < 2 or len(texts) != len(value.items) + 1:
        return [value]
    pairs = zip(texts, value.items, strict=False)
    return [part for pair in pairs for part in pair] + [texts[-1]]


def _filled(pattern: str, given: Value) -> Value:
    """Return what ``"..." % given`` comes to."""
    values = list(given.items) if given.known is Known.SEQUENCE and not given.text else [given]
    parts: list[str | Value] = []
    for number, text in enumerate(_CONVERSION.split(pattern)):
        if number and values:
            parts.append(values.pop(0))
        parts.append(text)
    return formatted([*parts, *values])


def _folded(left: object, operator: ast.operator, right: object) -> Value:
    if isinstance(left, str) and isinstance(right, str) and isinstance(operator, ast.Add):
        return Value(Known.LITERAL, (left + right)[:1000])
    if not (isinstance(left, (int, float)) and isinstance(right, (int, float))):
        return Value()
    try:
        if isinstance(operator, ast.Add):
            return Value(Known.LITERAL, left + right)
        if isinstance(operator, ast.Sub):
            return Value(Known.LITERAL, left - right)
        if isinstance(operator, ast.Mult):
            return Value(Known.LITERAL, left * right)
        if isinstance(operator, ast.FloorDiv):
            return Value(Known.LITERAL, left // right)
        if isinstance(operator, ast.Div):
            return Value(Known.LITERAL, left / right)
    except (ArithmeticError, ValueError):
        pass
    return Value()


def compared(values: list[Value], operators: list[ast.cmpop]) -> Value:
    """Return what a comparison comes to: whether it asks for the rank, and for which."""
    by_rank, from_data = mixed(values)
    if len(values) != 2:
        return Value(by_rank=by_rank, from_data=from_data)
    left, right = values
    if isinstance(operators[0], (ast.Is, ast.IsNot)):
        if left.is_none and right.is_none:
            return Value(Known.LITERAL, isinstance(operators[0], ast.Is), items=(left, right), text="is")
        return Value(
            items=(left, right), text="is"
        )  # ``rank is None`` tells how it was started, not which rank it is
    if (
        isinstance(left.literal, str)
        and isinstance(right.literal, str)
        and left.is_literal
        and right.is_literal
    ):
        # where a function is told what to make: ``shuffle=split == "train"``
        same = left.literal == right.literal
        if isinstance(operators[0], (ast.Eq, ast.NotEq)):
            same = same is isinstance(operators[0], ast.Eq)
            return Value(literal=same, items=(left, right), text=type(operators[0]).__name__)
    left, right = _rank_of(left), _rank_of(right)
    if left.is_literal and right.is_rank:
        left, right = right, left
    if left.is_rank and left.known is not Known.NODE_RANK:
        return _rank_test(left, right, operators[0], from_data=from_data)
    return Value(items=(left, right), text=type(operators[0]).__name__, by_rank=by_rank, from_data=from_data)


def _rank_of(value: Value) -> Value:
    """Return the rank where a value is one or a number: ``get_rank() if is_initialized() else 0``."""
    items = list(value.possible())
    ranks = [item for item in items if item.is_rank]
    rest = all(item.is_rank or type(item.literal) is int for item in items)
    kinds = {item.known for item in ranks}
    return ranks[0] if len(kinds) == 1 and len(items) > 1 and rest else value


def _rank_test(rank: Value, other: Value, operator: ast.cmpop, *, from_data: bool) -> Value:
    items = (rank, other)
    written = (
        int(other.literal) if isinstance(other.literal, str) and other.literal.isdecimal() else other.literal
    )
    number = written if other.is_literal and isinstance(written, int) else None
    if isinstance(operator, (ast.In, ast.NotIn)) and other.known is Known.SEQUENCE:
        ranks = [item.literal for item in other.items if isinstance(item.literal, int) and item.literal >= 0]
        number = ranks[0] if len(ranks) == 1 else None
    if number is not None and number < 0:
        # ``local_rank == -1`` and ``local_rank != -1`` ask whether there are several ranks at all.
        return Value(items=items, text="several")
    if (
        number is not None
        and isinstance(operator, (ast.GtE, ast.Gt))
        and number - isinstance(operator, ast.GtE) < 0
    ):
        return Value(items=items, text="several")
    if isinstance(operator, (ast.Eq, ast.In)) or (isinstance(operator, ast.Lt) and number == 1):
        sole = 0 if isinstance(operator, ast.Lt) else number
        text = type(operator).__name__ if sole is None else ""
        return Value(items=items, text=text, by_rank=True, from_data=from_data, sole=sole)
    if isinstance(operator, (ast.NotEq, ast.NotIn)) or (isinstance(operator, ast.Gt) and number == 0):
        return Value(items=items, by_rank=True, from_data=from_data, all_but=number)
    return Value(items=items, text=type(operator).__name__, by_rank=True, from_data=from_data)


def formatted(parts: list[str | Value]) -> Value:
    """Return what a formatted string comes to: a device where it begins so, else text that depends on its values."""
    values = [part for part in parts if isinstance(part, Value)]
    if all(value.is_literal for value in values):
        return Value(
            Known.LITERAL, "".join(part if isinstance(part, str) else str(part.literal) for part in parts)
        )
    first = parts[0] if parts and isinstance(parts[0], str) else ""
    by_rank, from_data = mixed(values)
    if first in ("cuda:", "xpu:", "npu:", "hpu:") and len(values) == 1 and not any(parts[2:]):
        return Value(Known.DEVICE, text=first[:-1], items=(values[0],), by_rank=by_rank)
    texts = "".join(part if isinstance(part, str) else "{}" for part in parts)
    return Value(text=texts[:200], items=tuple(values), by_rank=by_rank, from_data=from_data)


def filled_in(pattern: str, given: list[Value]) -> Value:
    """Return what ``pattern.format(...)`` comes to."""
    parts: list[str | Value] = []
    left = list(given)
    try:
        for text, field, _, _ in string.Formatter().parse(pattern):
            parts.append(text)
            if field is not None and left:
                parts.append(left.pop(0))
    except ValueError:
        return Value()
    return formatted([*parts, *left])
