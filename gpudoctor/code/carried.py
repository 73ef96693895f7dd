"""What one pass of a loop hands on to the next: ``out, hidden = model(x, hidden)``."""

import ast
from collections.abc import Iterator

from gpudoctor.code.definitions import nodes


def carried(body: list[ast.stmt], head: ast.expr) -> Iterator[tuple[str, ast.stmt]]:
    """Yield each name that a statement of a loop's body computes from itself, with that statement.

    Only where the body goes back through a loss, and nothing else in it, nor the loop's own head, changes the name or
    cuts it from its past.
    """
    found = []
    for statement in body:
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
            value = statement.value
            given = _names([*value.args, *(keyword.value for keyword in value.keywords)])
            found += [(name, statement) for name in _names(statement.targets) if name in given]
    if not found:
        return
    parts = [part for root in (head, *body) for part in nodes(root)]
    asked = [part for part in parts if isinstance(part, ast.Attribute)]
    if not any(part.attr == "backward" for part in asked):
        return
    named = [part for part in parts if isinstance(part, ast.Name)]
    for name, statement in found:
        stored = sum(part.id == name and isinstance(part.ctx, ast.Store) for part in named)
        cut = any(
            part.attr in CUT and isinstance(part.value, ast.Name) and part.value.id == name for part in asked
        )
        if stored == 1 and not cut:
            yield name, statement


CUT = ("data", "detach", "detach_", "item")


def _names(parts: list[ast.expr]) -> list[str]:
    """Return the names that expressions are made of, in tuples, lists and sums."""
    found = []
    waiting = list(parts)
    while waiting:
        part = waiting.pop()
        if isinstance(part, ast.Name):
            found.append(part.id)
        elif isinstance(part, ast.Tuple | ast.List):
            waiting += part.elts
        elif isinstance(part, ast.BinOp):
            waiting += [part.left, part.right]
    return found
