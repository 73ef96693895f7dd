"""What statements do: names and attributes get values, branches and loops are gone through once."""

import ast
from collections.abc import Callable, Iterable
from typing import Any

from gpudoctor.code.assignment import annotated, assign, assignment, augmented, delete
from gpudoctor.code.branches import SEVERAL, attempt, branch, match
from gpudoctor.code.definitions import Class, Function, bound
from gpudoctor.code.expressions import evaluate
from gpudoctor.code.loops import for_loop, while_loop
from gpudoctor.code.names import symbol
from gpudoctor.code.program import Frame
from gpudoctor.code.unwrapping import is_wrapped
from gpudoctor.facts import UNKNOWN, Argument, Known, Value

LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)
EXITS = frozenset({"exit", "quit", "sys.exit", "os._exit", "os.abort"})


def execute(frame: Frame, body: Iterable[ast.stmt]) -> bool:
    """Go through statements in their order; return whether the end of them is never reached."""
    conditions = frame.conditions
    left = False
    for node in body:
        frame.program.step()
        handler = _HANDLERS.get(type(node))
        if handler is not None:
            left = bool(handler(frame, node)) or left
            if left and (isinstance(node, LEAVING) or _surely(frame, node)):
                break
    frame.last_conditions, frame.conditions = frame.conditions, conditions
    return left


def _surely(frame: Frame, node: ast.stmt) -> bool:
    """Return whether it is known that the way out of a test for a wrapper is taken."""
    return isinstance(node, ast.If) and is_wrapped(frame, node.test) is not None


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


def _with(frame: Frame, node: ast.With | ast.AsyncWith) -> bool:
    contexts = frame.contexts
    for item in node.items:
        calls = len(frame.program.calls)
        value = evaluate(frame, item.context_expr)
        inside = value.text == "generator"  # what a class does in its __init__ is over by then
        made = [call.name for call in frame.program.calls[calls:] if inside or call.stack == frame.stack]
        frame.contexts = (*frame.contexts, *(made or [value.text] if made or value.text else []))
        frame.contexts += _others(frame, item.context_expr)
        if value.text == "generator" and len(value.items) == 1:
            value = value.items[0]  # a context manager that the script writes with ``yield``
        if item.optional_vars is not None:
            assign(frame, item.optional_vars, value, quiet=True)
    left = execute(frame, node.body)
    frame.contexts = contexts
    return left


def _others(frame: Frame, node: ast.expr) -> tuple[str, ...]:
    """Return what else ``with context():`` may enter: ``context = model.join if ddp else nullcontext``."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Name)):
        return ()
    value = frame.names.get(node.func.id, UNKNOWN)
    return tuple(f".{v.text}" for v in value.possible() if v.text) if value.known is Known.CHOICE else ()


def _return(frame: Frame, node: ast.Return) -> bool:
    value = UNKNOWN
    if node.value is not None:
        value = evaluate(frame, node.value)
        by_rank = any(condition.by_rank for condition in frame.conditions[frame.base :])
        if by_rank and not value.by_rank and value.is_literal:
            condition = next(c for c in frame.conditions[frame.base :] if c.by_rank)
            value = Value(
                value.known, value.literal, by_rank=True, sole=condition.rank, items=condition.value.items
            )
        frame.returned.append(value)
    if len(frame.conditions) > frame.base:
        frame.heaps.append(frame.program.keep())
    frame.leave("return", node, value)
    return True


def _raise(frame: Frame, node: ast.Raise) -> bool:
    if node.exc is not None:
        evaluate(frame, node.exc)
    frame.leave("raise", node)
    return True


def _loop_exit(frame: Frame, node: ast.Break | ast.Continue) -> bool:
    frame.leave("break" if isinstance(node, ast.Break) else "continue", node)
    if isinstance(node, ast.Break):
        frame.broken.append(dict(frame.names))
    return True


def _function(frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    for decorator in node.decorator_list:
        evaluate(frame, decorator)
    if frame.scope == "<module>":
        frame.names[node.name] = frame.program.define(Function(node.name, node, frame.file))
    else:
        name = f"{frame.scope}.{node.name}"
        function = Function(name, node, frame.file)
        frame.program.closures[frame.program.name_of(function)] = frame
        own = frame.conditions[frame.base :]
        frame.program.guards[node] = tuple(test for test in own if test.kind == "if" and not test.early)
        frame.names[node.name] = frame.program.define(function)


def _class(frame: Frame, node: ast.ClassDef) -> None:
    item = Class(node.name, node, frame.file)
    frame.names[node.name] = frame.program.define(item)
    body = [part for part in node.body if isinstance(part, (ast.Assign, ast.AnnAssign, ast.If, ast.Try))]
    if body:
        inner = Frame(frame.program, frame.file, frame.scope, frame)
        inner.depth, inner.outer = frame.depth, frame
        execute(inner, body)
        name = frame.program.name_of(item)
        frame.program.class_values.update({(name, key): value for key, value in inner.names.items()})


def _import(frame: Frame, node: ast.Import | ast.ImportFrom) -> None:
    for name, dotted in bound(node, frame.file).items():
        frame.names[name] = symbol(frame, frame.file, dotted)


def _shared(frame: Frame, node: ast.Global | ast.Nonlocal) -> None:
    module = frame.program.globals.get(frame.file.name)
    if frame is module:
        return  # ``global`` at module level says nothing
    frame.shared.update(node.names)
    if isinstance(node, ast.Global) and frame.outer is None:
        frame.outer = module


def _assert(frame: Frame, node: ast.Assert) -> None:
    value = evaluate(frame, node.test)
    if any(SEVERAL.fullmatch(test.text) and not test.negated for test in frame.conditions):
        said = Argument(value, frame.place(node.test), frame.text(node.test))
        frame.record("<asserted>", node, text=said.text, arguments={"test": said}, used=False)


_HANDLERS: dict[type, Callable[[Frame, Any], bool | None]] = {
    ast.Expr: _expression,
    ast.Assign: assignment,
    ast.AnnAssign: annotated,
    ast.AugAssign: augmented,
    ast.If: branch,
    ast.For: for_loop,
    ast.AsyncFor: for_loop,
    ast.While: while_loop,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: attempt,
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
    ast.Delete: delete,
    ast.Match: match,
}
if hasattr(ast, "TryStar"):
    _HANDLERS[ast.TryStar] = attempt
