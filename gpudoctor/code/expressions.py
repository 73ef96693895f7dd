"""What an expression comes to, and what is called on the way."""

import ast
from collections.abc import Callable

from msgspec.structs import replace

from gpudoctor.code.arithmetic import (
    combined,
    compared,
    formatted,
    negated,
    part_of,
    present,
    tested,
    united,
)
from gpudoctor.code.attributes import attribute
from gpudoctor.code.calls import perform
from gpudoctor.code.comprehensions import comprehension, yielded
from gpudoctor.code.dictionaries import entry, spread
from gpudoctor.code.environment_variables import named_value, variable
from gpudoctor.code.names import looked_up, member
from gpudoctor.code.program import Frame, one_of
from gpudoctor.code.results import chosen
from gpudoctor.code.settled import narrowed
from gpudoctor.code.shares import note_share, note_test
from gpudoctor.code.unwrapping import is_wrapped
from gpudoctor.facts import ANY_OTHER, EVERY_NTH, LACKS, SHUFFLED, UNKNOWN, Argument, Condition, Known, Value


def evaluate(frame: Frame, node: ast.expr | None, *, used: bool = True) -> Value:
    """Return what an expression comes to; calls in it are recorded in the order in which they happen."""
    if node is None:
        return UNKNOWN
    frame.program.step()
    if isinstance(node, ast.Call):
        return _call(frame, node, used=used)
    handler = _HANDLERS.get(type(node))
    if handler is None:
        return united(
            [evaluate(frame, child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)],
        )
    return handler(frame, node)


def _constant(frame: Frame, node: ast.Constant) -> Value:
    return UNKNOWN if node.value is Ellipsis else Value(Known.LITERAL, node.value)


def name(frame: Frame, node: ast.Name) -> Value:
    """Return what a name means here."""
    value = looked_up(frame, node.id)
    if value.known is Known.CHOICE and value.may_be(Known.UNBOUND):
        frame.record(f"{node.id}.__unbound__", node, text=node.id, receiver=value)
        return one_of([item for item in value.possible() if item.known is not Known.UNBOUND])
    return value


def _call(frame: Frame, node: ast.Call, *, used: bool) -> Value:
    """Evaluate a call: its function, its arguments, and what it does."""
    receiver, callee = UNKNOWN, UNKNOWN
    function = node.func
    attribute = ""
    if isinstance(function, ast.Attribute):
        if _is_super(function.value):
            receiver = frame.self_value or UNKNOWN
            attribute = f"super.{function.attr}"
        else:
            receiver = evaluate(frame, function.value)
            attribute = function.attr
            callee = member(frame, receiver, attribute)
    else:
        callee = evaluate(frame, function)
    positional: list[Argument] = []
    keywords: dict[str, Argument] = {}
    starred = False
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            several = evaluate(frame, argument.value)
            if several.known is Known.SEQUENCE and not several.text:
                place, text = frame.place(argument), frame.text(argument)
                positional += [Argument(item, place, text) for item in several.items]
            else:
                starred = True
        else:
            positional.append(
                Argument(evaluate(frame, argument), frame.place(argument), frame.text(argument))
            )
    for keyword in node.keywords:
        value = evaluate(frame, keyword.value)
        if keyword.arg is None:
            given = spread(frame, keyword.value, value)
            keywords.update({name: a for name, a in given.items() if name not in keywords})
            starred = starred or not given
        else:
            text = frame.text(keyword.value)
            before = frame.file.source.line(keyword.value.lineno)[: keyword.value.col_offset]
            keywords[keyword.arg] = Argument(
                value, frame.place(keyword.value), f"({text})" if before.endswith("(") else text
            )
    return perform(frame, node, callee, receiver, attribute, positional, keywords, starred=starred, used=used)


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _subscript(frame: Frame, node: ast.Subscript) -> Value:
    value, index = evaluate(frame, node.value), evaluate(frame, node.slice)
    if value.known is Known.SYMBOL and value.text == "os.environ":
        found = variable(index.literal) if index.is_literal else Value(text="os.environ")
        arguments = {"key": Argument(index, frame.place(node.slice), frame.text(node.slice))}
        frame.record("os.environ.__getitem__", node, text="os.environ", arguments=arguments, result=found)
        return found
    held_under = entry(value, index.literal) if index.is_literal else None
    if held_under is not None:
        return held_under
    note_share(frame, node, value, index)
    if index.text == EVERY_NTH and value.known is not Known.TENSOR and not value.by_rank:
        return Value(text=EVERY_NTH, items=(value,), by_rank=True)
    if value.text == SHUFFLED:
        if isinstance(node.slice, ast.Slice):
            frame.record("<part>", node, text=frame.text(node.slice), receiver=value)
        return value
    if value.known is Known.SYMBOL and value.text.endswith(".__dict__"):
        return chosen(value)
    if value.text == "comprehension" and value.items and not isinstance(node.slice, ast.Slice):
        return value.items[0]
    if value.known is Known.SEQUENCE and isinstance(index.literal, int) and not value.text:
        if -len(value.items) <= index.literal < len(value.items):
            return value.items[index.literal]
    if value.known in (Known.MAPPING, Known.SEQUENCE) and not value.text and 0 < len(value.items) <= 6:
        by_key = value.known is Known.MAPPING and value.literal is None and any(i.things for i in value.items)
        if (not index.is_literal or by_key) and not isinstance(node.slice, ast.Slice):
            return one_of([i for i in value.items if i.things] if by_key else list(value.items))
    held = frame.program.heap.get((value.thing, f"[{index.literal!r}]")) if value.thing >= 0 else None
    if held is not None:
        return held
    if value.known is Known.TENSOR:
        return value
    kind = frame.program.kind(value)
    if isinstance(index.literal, str) and kind in ("", "arguments", "checkpoint"):
        by_name = named_value(index.literal)
        if by_name is not None:
            return by_name
    text = f"{kind}[{index.literal!r}]" if kind == "checkpoint" else ""
    made = value.made if kind == "checkpoint" or index.is_rank else -1
    part = part_of(value)
    return Value(
        text=text,
        items=() if made >= 0 else part.items,
        by_rank=value.by_rank or index.by_rank,
        from_data=value.from_data or index.from_data,
        made=made,
    )


def _slice(frame: Frame, node: ast.Slice) -> Value:
    """Return what a slice's bounds come to: a text of its own where it takes every n-th item from the rank on."""
    parts = [evaluate(frame, part) for part in (node.lower, node.upper, node.step) if part is not None]
    every_nth = (
        node.upper is None and len(parts) == 2 and parts[0].may_be_rank and parts[1].may_be(Known.WORLD_SIZE)
    )
    return replace(united(parts), text=EVERY_NTH if every_nth else "", items=tuple(parts))


def _sequence(frame: Frame, node: ast.List | ast.Tuple | ast.Set) -> Value:
    items = tuple(evaluate(frame, item) for item in node.elts)
    if any(isinstance(item, ast.Starred) for item in node.elts):
        return replace(united(list(items)), items=items)
    by_rank, from_data = any(i.by_rank for i in items), any(i.from_data for i in items)
    return Value(Known.SEQUENCE, items=items, by_rank=by_rank, from_data=from_data)


def _mapping(frame: Frame, node: ast.Dict) -> Value:
    keys = [evaluate(frame, key) for key in node.keys]
    items = tuple(evaluate(frame, item) for item in node.values)
    literal = tuple(key.literal for key in keys) if all(key.is_literal for key in keys) else None
    by_rank = any(i.by_rank for i in (*items, *keys))
    return Value(
        Known.MAPPING, literal, items=items, by_rank=by_rank, from_data=any(i.from_data for i in items)
    )


def _under(frame: Frame, node: ast.expr, test: ast.expr, value: Value, *, negated: bool = False) -> Value:
    """Return what an expression comes to that is only looked at where a test holds, or does not."""
    outside = frame.conditions
    frame.conditions = (*outside, Condition(frame.place(test), frame.text(test), value, negated))
    found = evaluate(frame, node)
    frame.conditions = outside
    return found


def _conditional(frame: Frame, node: ast.IfExp) -> Value:
    test = tested(evaluate(frame, node.test))
    wrapped = is_wrapped(frame, node.test)
    if wrapped is not None:
        return _under(frame, node.body if wrapped else node.orelse, node.test, test, negated=not wrapped)
    decided = narrowed(frame, frame.text(node.test), test)
    frame.names.update((name, sides.then) for name, sides in decided.items())
    then = _under(frame, node.body, node.test, test)
    frame.names.update((name, sides.otherwise) for name, sides in decided.items())
    otherwise = _under(frame, node.orelse, node.test, test, negated=True)
    frame.names.update((name, sides.either) for name, sides in decided.items())
    found = one_of([then, otherwise])
    if test.by_rank and found.known is Known.CHOICE:
        sole, all_but = present(test, then, otherwise)
        return Value(
            Known.CHOICE,
            items=found.items,
            by_rank=True,
            from_data=found.from_data,
            sole=sole,
            all_but=all_but,
        )
    if test.by_rank and found.known is Known.INDEX:
        return Value(Known.INDEX, text="if", by_rank=True, from_data=found.from_data)  # of other numbers
    if test.from_data and not test.by_rank and found.known is Known.CHOICE and not found.from_data:
        return replace(found, from_data=True)
    return found


def _boolean(frame: Frame, node: ast.BoolOp) -> Value:
    values = []
    outside = frame.conditions
    for item in node.values:
        values.append(evaluate(frame, item))
        # ``rank == 0 and writer.close()``: what comes behind is only looked at where this holds
        negated = isinstance(node.op, ast.Or)
        condition = Condition(frame.place(item), frame.text(item), values[-1], negated)
        frame.conditions = (*frame.conditions, condition)
    frame.conditions = outside
    lacking = next((v for v in values if v.text == LACKS and v.is_literal and not v.literal), None)
    if lacking is not None and isinstance(node.op, ast.And):
        return lacking
    tests = [value for value in values if value.sole is not None or value.all_but is not None]
    joined = united(values)
    if all(value.is_literal for value in values):  # ``shuffle=train and sampler is None``
        settled = isinstance(node.op, ast.Or)
        return next((value for value in values if bool(value.literal) is settled), values[-1])
    if isinstance(node.op, ast.Or) and not any(v.by_rank or v.sole is not None for v in values):
        return one_of(values)  # ``a or b`` is mostly a default
    if len(tests) == 1 and isinstance(node.op, ast.Or) and tests[0].all_but is not None:
        test = tests[0]  # it surely holds on the others: where it does not, this is the one rank
        return Value(
            items=test.items, by_rank=True, from_data=joined.from_data, all_but=test.all_but, text=ANY_OTHER
        )
    if len(tests) == 1 and (isinstance(node.op, ast.And) or _several(frame, node, values, tests[0])):
        test = tests[0]
        return Value(
            items=test.items, by_rank=True, from_data=joined.from_data, sole=test.sole, all_but=test.all_but
        )
    return joined


_SEVERAL = (
    "dist",
    "ddp",
    "fsdp",
    "parallel",
    "world",
    "initialized",
    "available",
    "-1",
    "gpus",
    "num_processes",
)


def _several(frame: Frame, node: ast.BoolOp, values: list[Value], test: Value) -> bool:
    """Return whether what stands beside a test for the rank asks whether there are several ranks at all."""
    others = [item for item, value in zip(node.values, values, strict=True) if value is not test]
    return all(any(word in frame.text(item).lower() for word in _SEVERAL) for item in others)


def _unary(frame: Frame, node: ast.UnaryOp) -> Value:
    return negated(evaluate(frame, node.operand), node.op)


def _binary(frame: Frame, node: ast.BinOp) -> Value:
    return combined(evaluate(frame, node.left), node.op, evaluate(frame, node.right))


def _compare(frame: Frame, node: ast.Compare) -> Value:
    values = [evaluate(frame, value) for value in (node.left, *node.comparators)]
    test = compared(values, node.ops)
    if test.by_rank:
        note_test(frame, node, test)
    return test


def _fstring(frame: Frame, node: ast.JoinedStr) -> Value:
    parts: list[str | Value] = []
    for value in node.values:
        if isinstance(value, ast.Constant):
            parts.append(str(value.value))
        elif isinstance(value, ast.FormattedValue):
            parts.append(evaluate(frame, value.value))
    return formatted(parts)


def _lambda(frame: Frame, node: ast.Lambda) -> Value:
    inner = Frame(frame.program, frame.file, f"{frame.scope}.<lambda>", frame)
    inner.outer, inner.self_value = frame, frame.self_value
    inner.deferred = True  # what stands in it happens when it is called
    for argument in (*node.args.args, *node.args.kwonlyargs):
        inner.names[argument.arg] = Value(text=argument.arg)
    result = evaluate(inner, node.body)
    return Value(text="<lambda>", items=(result,), by_rank=result.by_rank)


def _walrus(frame: Frame, node: ast.NamedExpr) -> Value:
    value = evaluate(frame, node.value)
    frame.bind(node.target.id, value)
    return value


_HANDLERS: dict[type, Callable[..., Value]] = {
    ast.Constant: _constant,
    ast.Name: name,
    ast.Attribute: attribute,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.Dict: _mapping,
    ast.ListComp: comprehension,
    ast.SetComp: comprehension,
    ast.GeneratorExp: comprehension,
    ast.DictComp: comprehension,
    ast.IfExp: _conditional,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.Compare: _compare,
    ast.JoinedStr: _fstring,
    ast.Lambda: _lambda,
    ast.NamedExpr: _walrus,
    ast.Yield: yielded,
    ast.YieldFrom: yielded,
    ast.Starred: lambda frame, node: evaluate(frame, node.value),
    ast.Await: lambda frame, node: evaluate(frame, node.value),
}
