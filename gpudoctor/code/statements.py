"""What statements do: names and attributes get values, branches and loops are gone through once."""

import ast
from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from gpudoctor.code.definitions import Class, Function, bound
from gpudoctor.code.expressions import evaluate
from gpudoctor.code.names import symbol
from gpudoctor.code.program import Frame, one_of
from gpudoctor.facts import UNKNOWN, Argument, Condition, Known, Loop, Value

LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
EXITS = frozenset({"exit", "quit", "sys.exit", "os._exit", "os.abort"})
_LOADERS = ("loader", "dataloader", "data_iter", "train_iter")


def execute(frame: Frame, body: Iterable[ast.stmt]) -> bool:
    """Go through statements in their order; return whether the end of them is never reached."""
    conditions = frame.conditions
    left = False
    for node in body:
        frame.program.step()
        handler = _HANDLERS.get(type(node))
        if handler is not None:
            left = bool(handler(frame, node)) or left
            if left and isinstance(node, LEAVING):
                break
    frame.conditions = conditions
    return left


def _expression(frame: Frame, node: ast.Expr) -> bool:
    if isinstance(node.value, ast.Constant):
        return False
    number = len(frame.program.calls)
    value = evaluate(frame, node.value, used=False)
    if isinstance(node.value, ast.BinOp):
        frame.record("<discarded>", node, text=frame.text(node.value), result=value, used=False)
    if isinstance(node.value, ast.Call) and len(frame.program.calls) > number:
        if frame.program.calls[-1].name in EXITS:
            frame.leave("exit", node)
            return True
    return False


def _assign(frame: Frame, node: ast.Assign) -> None:
    value = evaluate(frame, node.value)
    for target in node.targets:
        assign(frame, target, value)


def _annotated(frame: Frame, node: ast.AnnAssign) -> None:
    if node.value is not None:
        assign(frame, node.target, evaluate(frame, node.value))


def _augmented(frame: Frame, node: ast.AugAssign) -> None:
    before, value = evaluate(frame, node.target), evaluate(frame, node.value)
    known = Known.TENSOR if Known.TENSOR in (before.known, value.known) else Known.UNKNOWN
    if before.known in (Known.SEQUENCE, Known.RANK):
        known = before.known
    by_rank, from_data = before.by_rank or value.by_rank, before.from_data or value.from_data
    result = Value(
        known,
        text="+=",
        items=(before, value)[: 2 if not before.items else 0],
        by_rank=by_rank,
        from_data=from_data,
    )
    frame.record("<augmented>", node, text=frame.text(node.target), receiver=before, result=result, arguments={
        "value": Argument(value, frame.place(node.value), frame.text(node.value))
    })  # fmt: skip
    assign(frame, node.target, result, quiet=True)


def assign(frame: Frame, target: ast.expr, value: Value, *, quiet: bool = False) -> None:
    """Give a target a value."""
    if isinstance(target, ast.Name):
        frame.bind(target.id, value)
    elif isinstance(target, (ast.Tuple, ast.List)):
        plain = value.known is Known.SEQUENCE and not value.text and len(value.items) == len(target.elts)
        for number, element in enumerate(target.elts):
            item = value.items[number] if plain else _element(value)
            assign(frame, element.value if isinstance(element, ast.Starred) else element, item, quiet=quiet)
    elif isinstance(target, ast.Attribute):
        holder = evaluate(frame, target.value)
        for thing in holder.things:
            frame.program.heap[thing, target.attr] = value
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
            frame.program.heap[thing, f"[{key.literal!r}]"] = value
        name = holder.text if holder.known is Known.SYMBOL else frame.text(target.value)
        frame.record(
            f"{name}.__setitem__", target, text=frame.text(target), receiver=holder, arguments={
                "key": Argument(key, frame.place(target.slice), frame.text(target.slice)),
                "value": Argument(value, frame.place(target), ""),
            }
        )  # fmt: skip


def _element(value: Value) -> Value:
    if value.known in (Known.TENSOR, Known.INDEX):
        return value
    if value.known is Known.SEQUENCE and value.text == "comprehension":
        return value.items[0]
    if value.thing >= 0:
        return UNKNOWN
    return Value(by_rank=value.by_rank, from_data=value.from_data)


def _if(frame: Frame, node: ast.If) -> bool:
    value = evaluate(frame, node.test)
    kind = _special(node.test)
    condition = Condition(
        frame.place(node.test), frame.text(node.test), value, loops=len(frame.loops), kind=kind
    )
    opposite = Condition(
        condition.place, condition.text, value, negated=True, loops=condition.loops, kind=kind
    )
    outside, guarded = frame.conditions, frame.guarded
    names = dict(frame.names)
    frame.conditions = (*outside, condition)
    frame.guarded = guarded or kind == "main"
    left = execute(frame, node.body)
    frame.guarded = guarded
    then, frame.names = frame.names, dict(names)
    frame.conditions = (*outside, opposite)
    left_otherwise = execute(frame, node.orelse)
    if left != left_otherwise:
        _stays(frame, outside, opposite if left else condition)
        if left_otherwise:
            frame.names = then
    else:
        frame.conditions = outside
        frame.names = then if kind == "main" else _merged(frame, names, then, frame.names, value)
    return left and left_otherwise


def _stays(frame: Frame, outside: tuple[Condition, ...], condition: Condition) -> None:
    """Let what follows in the block stand under the test that was not left by."""
    early = replace(condition, early=True)
    frame.conditions = (*outside, early)


def _special(test: ast.expr) -> str:
    """Return ``main`` or ``type_checking`` where a test asks for that, else ``if``."""
    names = {n.id for n in ast.walk(test) if isinstance(n, ast.Name)}
    if "__name__" in names:
        return "main"
    return "type_checking" if "TYPE_CHECKING" in names else "if"


def _merged(
    frame: Frame, before: dict[str, Value], then: dict[str, Value], otherwise: dict[str, Value], test: Value
) -> dict[str, Value]:
    """Return the names after two branches: where they differ, either value."""
    merged = dict(before)
    for name in {**then, **otherwise}:
        values = [names[name] for names in (then, otherwise) if name in names]
        if len(values) == 1 and name not in before:
            unbound = Value(
                Known.UNBOUND, text=name, by_rank=test.by_rank, sole=test.sole, all_but=test.all_but
            )
            known_outside = frame.outer is not None and name in frame.outer.names
            values += [unbound] if test.by_rank and not known_outside else []
        elif len(values) == 1:
            values.append(before[name])
        value = values[0] if all(v == values[0] for v in values[1:]) else one_of(values)
        if test.by_rank and value.known is Known.CHOICE and not value.by_rank:
            value = Value(Known.CHOICE, items=value.items, by_rank=True, from_data=value.from_data)
        elif test.from_data and not test.by_rank and value.known is Known.CHOICE and not value.from_data:
            value = Value(Known.CHOICE, items=value.items, by_rank=value.by_rank, from_data=True)
        merged[name] = value
    return merged


def _for(frame: Frame, node: ast.For | ast.AsyncFor) -> None:
    over = evaluate(frame, node.iter)
    loop = _loop(frame, node, over)
    _bind_elements(frame, node, over, loop.kind)
    _body(frame, loop, node.body, frame.text(node.iter))
    execute(frame, node.orelse)


def _loop(frame: Frame, node: ast.For | ast.AsyncFor, over: Value) -> Loop:
    names = [n.id for n in ast.walk(node.target) if isinstance(n, ast.Name)]
    text = frame.text(node.iter).lower()
    loader = _loader(frame, over)
    kind = "for"
    if loader is not None:
        kind = "batch"
    elif any("epoch" in name.lower() for name in names) or "epoch" in text:
        kind = "epoch"
    elif any(word in text for word in _LOADERS):
        kind = "batch"
    return Loop(frame.place(node), kind, loader if loader is not None else over, names[0] if names else "")


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


def _bind_elements(frame: Frame, node: ast.For | ast.AsyncFor, over: Value, kind: str) -> None:
    element = Value(by_rank=over.by_rank, from_data=over.from_data)
    if kind == "batch":
        element = Value(Known.TENSOR, from_data=True)
    elif over.known is Known.INDEX:
        element = over
    elif over.known is Known.SEQUENCE and over.items:
        element = one_of(list(over.items))
    if over.text == "enumerate" and isinstance(node.target, ast.Tuple) and len(node.target.elts) == 2:
        assign(frame, node.target.elts[0], Value(Known.INDEX), quiet=True)
        assign(frame, node.target.elts[1], element, quiet=True)
    else:
        assign(frame, node.target, element, quiet=True)


def _while(frame: Frame, node: ast.While) -> None:
    value = evaluate(frame, node.test)
    text = frame.text(node.test)
    kind = "epoch" if "epoch" in text.lower() else "while"
    outside = frame.conditions
    if not isinstance(node.test, ast.Constant):
        frame.conditions = (
            *outside,
            Condition(frame.place(node.test), text, value, loops=len(frame.loops), kind="while"),
        )
    _body(frame, Loop(frame.place(node), kind, value, ""), node.body, text)
    frame.conditions = outside
    execute(frame, node.orelse)


def _body(frame: Frame, loop: Loop, body: list[ast.stmt], text: str) -> None:
    """Go through a loop's body once; what it assigns may not be assigned where it runs no time."""
    loops, conditions = frame.loops, frame.conditions
    frame.loops = (*loops, loop)
    frame.record("<loop>", body[0], text=text, receiver=loop.over)
    execute(frame, body)
    frame.loops, frame.conditions = loops, conditions


def _with(frame: Frame, node: ast.With | ast.AsyncWith) -> bool:
    contexts = frame.contexts
    for item in node.items:
        calls = len(frame.program.calls)
        value = evaluate(frame, item.context_expr)
        made = [call.name for call in frame.program.calls[calls:]]
        frame.contexts = (*frame.contexts, *(made or [value.text] if made or value.text else []))
        if item.optional_vars is not None:
            assign(frame, item.optional_vars, value, quiet=True)
    left = execute(frame, node.body)
    frame.contexts = contexts
    return left


def _try(frame: Frame, node: ast.Try) -> bool:
    contexts, conditions = frame.contexts, frame.conditions
    before = dict(frame.names)
    if node.handlers:
        frame.contexts = (*contexts, "try")
    left = execute(frame, node.body)
    frame.contexts = contexts
    after = frame.names
    handled = []
    for handler in node.handlers:
        text = f"except {frame.text(handler.type)}" if handler.type is not None else "except"
        frame.conditions = (
            *conditions,
            Condition(frame.place(handler), text, UNKNOWN, loops=len(frame.loops), kind="except"),
        )
        frame.names = dict(before)
        handled.append(execute(frame, handler.body))
        if not handled[-1]:
            after = _merged(frame, before, after, frame.names, UNKNOWN)
    frame.names, frame.conditions = after, conditions
    left = execute(frame, node.orelse) or left
    return execute(frame, node.finalbody) or (left and all(handled))


def _return(frame: Frame, node: ast.Return) -> bool:
    if node.value is not None:
        value = evaluate(frame, node.value)
        by_rank = any(condition.by_rank for condition in frame.conditions[frame.base :])
        if by_rank and not value.by_rank and value.is_literal:
            condition = next(c for c in frame.conditions[frame.base :] if c.by_rank)
            value = Value(
                value.known, value.literal, by_rank=True, sole=condition.rank, items=condition.value.items
            )
        frame.returned.append(value)
    frame.leave("return", node)
    return True


def _raise(frame: Frame, node: ast.Raise) -> bool:
    if node.exc is not None:
        evaluate(frame, node.exc)
    frame.leave("raise", node)
    return True


def _loop_exit(frame: Frame, node: ast.Break | ast.Continue) -> bool:
    frame.leave("break" if isinstance(node, ast.Break) else "continue", node)
    return True


def _function(frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    for decorator in node.decorator_list:
        evaluate(frame, decorator)
    if frame.scope == "<module>":
        frame.names[node.name] = frame.program.define(Function(node.name, node, frame.file))
    else:
        name = f"{frame.scope}.{node.name}"
        frame.program.closures[name] = frame
        frame.names[node.name] = frame.program.define(Function(name, node, frame.file))


def _class(frame: Frame, node: ast.ClassDef) -> None:
    frame.names[node.name] = frame.program.define(Class(node.name, node, frame.file))


def _import(frame: Frame, node: ast.Import | ast.ImportFrom) -> None:
    for name, dotted in bound(node, frame.file).items():
        frame.names[name] = symbol(frame, frame.file, dotted)


def _shared(frame: Frame, node: ast.Global | ast.Nonlocal) -> None:
    frame.shared.update(node.names)
    if isinstance(node, ast.Global) and frame.outer is None:
        frame.outer = frame.program.globals.get(frame.file.name)


def _assert(frame: Frame, node: ast.Assert) -> None:
    evaluate(frame, node.test)


def _delete(frame: Frame, node: ast.Delete) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            frame.names.pop(target.id, None)


def _match(frame: Frame, node: ast.Match) -> None:
    value = evaluate(frame, node.subject)
    outside = frame.conditions
    before = dict(frame.names)
    for case in node.cases:
        condition = Condition(
            frame.place(node), frame.text(node.subject), value, loops=len(frame.loops), kind="match"
        )
        frame.conditions = (*outside, condition)
        after, frame.names = frame.names, dict(before)
        execute(frame, case.body)
        frame.names = _merged(frame, before, after, frame.names, value)
    frame.conditions = outside


_HANDLERS: dict[type, Callable[[Frame, Any], bool | None]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Break: _loop_exit,
    ast.Continue: _loop_exit,
    ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.ClassDef: _class,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.Global: _shared,
    ast.Nonlocal: _shared,
    ast.Assert: _assert,
    ast.Delete: _delete,
    ast.Match: _match,
}
if hasattr(ast, "TryStar"):
    _HANDLERS[ast.TryStar] = _try
