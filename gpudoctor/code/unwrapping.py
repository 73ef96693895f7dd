"""Tests for a wrapper whose answer is known: ``model.module if hasattr(model, "module") else model``."""

import ast

from gpudoctor.code.program import Frame
from gpudoctor.facts import Known

PARALLEL = ("ddp", "dp")
"""Kinds of wrapper whose `module` is the model."""


def is_wrapped(frame: Frame, test: ast.expr) -> bool | None:
    """Return the answer of a test for a wrapper, ``None`` where it is another test or nobody knows here."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        answer = is_wrapped(frame, test.operand)
        return None if answer is None else not answer
    if not (isinstance(test, ast.Call) and isinstance(test.func, ast.Name) and len(test.args) == 2):
        return None
    asked, wanted = test.args
    if test.func.id not in ("hasattr", "isinstance") or not isinstance(asked, ast.Name):
        return None
    value = frame.program.evaluate(frame, asked)
    if value.known is not Known.THING or frame.program.kind(value) not in PARALLEL:
        return None
    if test.func.id == "hasattr":
        return True if isinstance(wanted, ast.Constant) and wanted.value == "module" else None
    given = frame.program.evaluate(frame, wanted)
    classes = given.items if given.known is Known.SEQUENCE else (given,)
    if not all(item.known is Known.SYMBOL for item in classes):
        return None
    return any(item.text == frame.program.things[value.thing].type for item in classes)


__all__ = ["is_wrapped"]
