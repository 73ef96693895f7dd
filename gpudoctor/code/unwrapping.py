"""Tests for a wrapper whose answer is known: ``model.module if hasattr(model, "module") else model``."""

import ast

from gpudoctor.code.definitions import Class, FunctionNode, nodes
from gpudoctor.code.program import Frame, one_of
from gpudoctor.facts import Known, Value

PARALLEL = ("ddp", "dp")
"""Kinds of wrapper whose `module` is the model."""


def is_wrapped(frame: Frame, test: ast.expr) -> bool | None:
    """Return the answer of a test for a wrapper, ``None`` where it is another test or nobody knows here."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        answer = is_wrapped(frame, test.operand)
        return None if answer is None else not answer
    if isinstance(test, ast.BoolOp):
        # one part that does not hold is enough for ``and``, one that holds for ``or``
        settling = isinstance(test.op, ast.Or)
        return settling if any(is_wrapped(frame, part) is settling for part in test.values) else None
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
    type = frame.program.things[value.thing].type
    if not all(_is_class(frame, item, of_script=type.startswith("torch.")) for item in classes):
        return None
    return any(item.text == type for item in classes)


def _is_class(frame: Frame, value: Value, *, of_script: bool) -> bool:
    """Return whether a value is a library's class, or one of the script's, which no wrapper of torch's is of."""
    if value.known is Known.DEFINED and of_script:
        return isinstance(frame.program.defined.get(value.text), Class)
    return value.known is Known.SYMBOL


INSIDE = {"module": PARALLEL, "_orig_mod": ("compiled",)}
"""Attributes under which wrappers keep what they hold, and the kinds of wrapper that have them."""


def taken_out(frame: Frame, node: ast.If) -> None:
    """Note that a name holds no wrapper after ``if isinstance(net, OptimizedModule): net = net._orig_mod``."""
    last = node.body[-1]
    if node.orelse or not (isinstance(last, ast.Assign) and len(last.targets) == 1):
        return
    target, given = last.targets[0], last.value
    if not (isinstance(target, ast.Name) and isinstance(given, ast.Attribute) and given.attr in INSIDE):
        return
    if not (isinstance(given.value, ast.Name) and given.value.id == target.id):
        return
    value = frame.names.get(target.id)
    if value is None or value.known is not Known.CHOICE:
        return
    bare = [o for o in value.possible() if frame.program.kind(o) not in INSIDE[given.attr]]
    if bare and len(bare) < sum(1 for _ in value.possible()):
        frame.names[target.id] = one_of(bare)


def without_wrapper(frame: Frame, function: FunctionNode, returned: Value) -> Value:
    """Return what a function returns that has ``return self.model.module`` on one way, and the model on another.

    It takes the wrapper off where there is one, whatever test tells it so.
    """
    if not any(frame.program.kind(option) in PARALLEL for option in returned.possible()):
        return returned
    given = [node.value for node in nodes(function) if isinstance(node, ast.Return)]
    inside = [part for part in given if isinstance(part, ast.Attribute) and part.attr in INSIDE]
    outside = {ast.dump(part) for part in given if part is not None}
    if not any(ast.dump(part.value) in outside for part in inside):
        return returned
    bare = [option for option in returned.possible() if frame.program.kind(option) not in PARALLEL]
    return one_of(bare) if bare else returned


__all__ = ["is_wrapped", "taken_out", "without_wrapper"]
