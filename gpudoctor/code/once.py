"""What is made where it is first asked for: ``if self._model is None: self._model = build()``."""

import ast

from gpudoctor.code.definitions import nodes
from gpudoctor.code.program import Frame, one_of
from gpudoctor.facts import Known, Value

MADE = (Known.THING, Known.MAPPING, Known.SEQUENCE)
"""What is surely not ``None``."""


def made_once(frame: Frame, node: ast.If) -> ast.Name | ast.Attribute | None:
    """Return what a test finds to be ``None`` and its body then makes, ``None`` for another test."""
    test = node.test
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Is)):
        return None
    asked, other = test.left, test.comparators[0]
    if not (isinstance(other, ast.Constant) and other.value is None):
        return None
    if not isinstance(asked, (ast.Name, ast.Attribute)) or node.orelse:
        return None
    text = frame.text(asked)
    stored = (
        target
        for statement in node.body
        for part in nodes(statement)
        if isinstance(part, ast.Assign)
        for target in part.targets
    )
    return asked if any(frame.text(target) == text for target in stored) else None


def is_made(frame: Frame, asked: ast.Name | ast.Attribute) -> bool:
    """Return whether something is there already: what would make it is not come to.

    Of what an object keeps to itself, ``self._loaders``, it is enough that it was made on one branch.
    """
    value = frame.program.evaluate(frame, asked)
    if isinstance(asked, ast.Attribute) and asked.attr.startswith("_"):
        return any(option.known in MADE for option in value.possible())
    return value.known in MADE


def settled(frame: Frame, asked: ast.Name | ast.Attribute) -> None:
    """Note that something is not ``None`` any more, whether it was made just now or before."""
    if isinstance(asked, ast.Name):
        if asked.id in frame.names:
            frame.names[asked.id] = _made(frame.names[asked.id])
        return
    for thing in frame.program.evaluate(frame, asked.value).things:
        held = frame.program.heap.get((thing, asked.attr))
        if held is not None:
            frame.program.hold(thing, asked.attr, _made(held))


def _made(value: Value) -> Value:
    """Return a value without the ``None`` that it may be."""
    rest = [item for item in value.possible() if not item.is_none]
    return one_of(rest) if value.known is Known.CHOICE and rest and not value.by_rank else value


__all__ = ["is_made", "made_once", "settled"]
