"""Branches: each is gone through once, and what they leave different is either value afterwards."""

import ast
import re

from msgspec.structs import replace

from gpudoctor.code.arithmetic import compared, present, tested
from gpudoctor.code.expressions import evaluate
from gpudoctor.code.once import is_made, made_once, settled
from gpudoctor.code.program import Frame, Heap, one_of
from gpudoctor.code.settled import narrowed, settle
from gpudoctor.code.unwrapping import is_wrapped, taken_out
from gpudoctor.facts import UNKNOWN, Condition, Known, Value


def branch(frame: Frame, node: ast.If) -> bool:
    """Go through both branches of an ``if``; return whether what follows is never reached."""
    asked = made_once(frame, node)
    if asked is not None and is_made(frame, asked):
        settled(frame, asked)
        return False
    left = _branches(frame, node)
    if not left:
        taken_out(frame, node)
    if asked is not None and not left:
        settled(frame, asked)
    return left


def _branches(frame: Frame, node: ast.If) -> bool:
    value = tested(evaluate(frame, node.test))
    text = frame.text(node.test)
    kind = "main" if "__name__" in text else "type_checking" if "TYPE_CHECKING" in text else "if"
    condition = Condition(frame.place(node.test), text, value, loops=len(frame.loops), kind=kind)
    opposite = Condition(
        condition.place, condition.text, value, negated=True, loops=condition.loops, kind=kind
    )
    outside = frame.conditions
    program = frame.program
    wrapped = is_wrapped(frame, node.test)
    if wrapped is not None:
        frame.conditions = (*outside, condition if wrapped else opposite)
        left = program.execute(frame, node.body if wrapped else node.orelse)
        frame.conditions = outside
        return left
    names, heap = dict(frame.names), program.keep()
    decided = narrowed(frame, text, value)
    frame.names.update((name, sides.then) for name, sides in decided.items())
    frame.conditions = (*outside, condition)
    left = program.execute(frame, node.body)
    after = frame.last_conditions[len(outside) + 1 :]
    then, frame.names = frame.names, dict(names)
    frame.names.update((name, sides.otherwise) for name, sides in decided.items())
    then_heap = program.keep()
    program.go_back(heap)
    frame.conditions = (*outside, opposite)
    left_otherwise = program.execute(frame, node.orelse)
    if left != left_otherwise:
        after = frame.last_conditions[len(outside) + 1 :] if left else after
        _stays(frame, node.test, outside, opposite if left else condition, after)
        if left_otherwise:
            frame.names = then
            program.go_back(then_heap)
    else:
        frame.conditions = outside
        if kind == "main":
            frame.names = then
            program.go_back(then_heap)
        else:
            told = value.is_literal and value.literal is True  # ``average=True`` was handed over
            several = told or SEVERAL.fullmatch(text) is not None
            for name, sides in decided.items():
                if then.get(name) is sides.then and frame.names.get(name) is sides.otherwise:
                    then[name] = frame.names[name] = sides.either
            otherwise = frame.names
            frame.names = _merged(frame, names, then, otherwise, value, several=several)
            settle(frame, text, value, {**names, **then}, {**names, **otherwise})
            if then_heap is not program.heap:
                program.go_back(_either(heap, then_heap, program.heap, value))
    return left and left_otherwise


SEVERAL = re.compile(
    r"(?:bool\()?(?:\w+\.)*(?:(?:is|use|using)_)?(?:ddp|dist|distributed|multi_gpu|multigpu)"
    r"(?:_(?:enabled|run|mode|training|is_on))?\)?|(?:\w+\.)*(?:world_size|num_processes|n_gpus?|num_gpus) > 1"
    r"|(?:torch\.)?(?:dist|distributed)\.is_initialized\(\)"
    r"|(?:\w+\.)*_?(?:(?i:local_)?(?i:rank)) (?:!= -1|> -1|>= 0)"
)
"""A test that holds where there are several ranks, and else nowhere."""


def _either(before: Heap, then: Heap, otherwise: Heap, test: Value) -> Heap:
    """Return the attributes of things after two branches: where they differ, either value."""
    merged = {**otherwise, **then}
    changed = [key for key, value in then.items() if otherwise.get(key) is not value]
    changed += [key for key in otherwise if key not in then]
    for key in changed:
        first, second = then.get(key, before.get(key)), otherwise.get(key, before.get(key))
        if first is not None and second is not None and first is not second and first != second:
            merged[key] = _by_rank(one_of([first, second]), test)
        elif second is not None and first is None:
            merged[key] = second
    return merged


def _by_rank(value: Value, test: Value) -> Value:
    """Return what holds one of several values after a test: where that asks for the rank, the ranks differ in it."""
    if test.by_rank and value.known is Known.CHOICE and not value.by_rank:
        return Value(Known.CHOICE, items=value.items, by_rank=True, from_data=value.from_data)
    return value


def _stays(
    frame: Frame, test: ast.expr, outside: tuple[Condition, ...], condition: Condition, after: tuple[Condition, ...]
) -> None:  # fmt: skip
    """Let what follows in the block stand under the test that was not left by, and under those of an ``elif``.

    Of ``if a and b: return`` and ``elif a: return`` only ``not a`` is left: it says all that the first one does.
    """
    early: tuple[Condition, ...] = (replace(condition, early=True),)
    if condition.negated and isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        parts = {frame.text(part) for part in test.values}
        if any(other.negated and other.early and other.text in parts for other in after):
            early = ()
    frame.conditions = (*outside, *early, *(other for other in after if other.early))


def _merged(
    frame: Frame, before: dict[str, Value], then: dict[str, Value], otherwise: dict[str, Value], test: Value,
    *, several: bool = False,
) -> dict[str, Value]:  # fmt: skip
    """Return the names after two branches: where they differ, either value."""
    merged = dict(before)
    for name in {**then, **otherwise}:
        if name in then and then[name] is otherwise.get(name):  # no branch has given it a value
            merged[name] = then[name]
            continue
        values = [names[name] for names in (then, otherwise) if name in names]
        if len(values) == 1 and name not in before:
            sole, all_but = (test.sole, test.all_but) if name in then else (test.all_but, test.sole)
            unbound = Value(Known.UNBOUND, text=name, by_rank=test.by_rank, sole=sole, all_but=all_but)
            known_outside = frame.outer is not None and name in frame.outer.names
            values += [unbound] if test.by_rank and not known_outside else []
        elif len(values) == 1:
            values.append(before[name])
        elif several and _own(values[1]) and not _own(values[0]):
            values = values[:1]  # the ranks have agreed; where they have not, there is one
        elif several or (test.text == "Gt" and any(item.may_be(Known.WORLD_SIZE) for item in test.items)):
            values = [values[0], *(v for v in values[1].possible() if not _alone(v))]
        elif test.by_rank and (then[name] is not before.get(name) or _may_lack(then[name])):
            here = (
                [v for v in values[0].possible() if not _there(v, test)]
                if _may_lack(values[0])
                else values[:1]
            )
            values = [*here, *(v for v in values[1].possible() if not _filled(v, test))]
        value = values[0] if all(v == values[0] for v in values[1:]) else one_of(values)
        value = _by_rank(value, test)
        if value.known is Known.CHOICE and test.by_rank:
            sole, all_but = present(test, then.get(name), otherwise.get(name))
            if sole is not None or all_but is not None:
                value = replace(value, sole=sole, all_but=all_but)
        if test.from_data and not test.by_rank and value.known is Known.CHOICE and not value.from_data:
            value = Value(Known.CHOICE, items=value.items, by_rank=value.by_rank, from_data=True)
        merged[name] = value
    return merged


def _own(value: Value) -> bool:
    """Return whether a value may be another on each rank."""
    return value.by_rank or value.from_data


def _filled(value: Value, test: Value) -> bool:
    """Return whether a name that some ranks had not got is assigned on just those by a later test."""
    if value.known is not Known.UNBOUND:
        return False
    rest = value.sole is not None and value.sole == test.all_but
    return rest or (value.all_but is not None and value.all_but == test.sole)


def _may_lack(value: Value) -> bool:
    return value.may_be(Known.UNBOUND)


def _there(value: Value, test: Value) -> bool:
    """Return whether the ranks that pass a test are those that had a name which others may lack."""
    if value.known is not Known.UNBOUND:
        return False
    sole = value.sole is not None and value.sole == test.sole
    return sole or (value.all_but is not None and value.all_but == test.all_but)


def _alone(value: Value) -> bool:
    """Return whether a name is there on rank 0: where there is one rank, it never is missing."""
    return value.known is Known.UNBOUND and value.sole == 0


def attempt(frame: Frame, node: ast.Try) -> bool:
    """Go through a ``try``, and through each handler as if its exception came at the end; return as `branch` does."""
    contexts, conditions = frame.contexts, frame.conditions
    before = dict(frame.names)
    if node.handlers:
        frame.contexts = (*contexts, "try")
    left = frame.program.execute(frame, node.body)
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
        handled.append(frame.program.execute(frame, handler.body))
        if not handled[-1]:
            after = _merged(frame, before, after, frame.names, UNKNOWN)
    frame.names, frame.conditions = after, conditions
    left = frame.program.execute(frame, node.orelse) or left
    return frame.program.execute(frame, node.finalbody) or (left and all(handled))


def match(frame: Frame, node: ast.Match) -> None:
    """Go through the cases of a ``match``."""
    value = evaluate(frame, node.subject)
    outside = frame.conditions
    before = dict(frame.names)
    others: list[Condition] = []
    for case in node.cases:
        text, test = frame.text(node.subject), value
        if isinstance(case.pattern, ast.MatchValue) and isinstance(case.pattern.value, ast.Constant):
            text = f"{text} == {frame.text(case.pattern.value)}"
            test = compared([value, Value(Known.LITERAL, case.pattern.value.value)], [ast.Eq()])
        condition = Condition(frame.place(case.pattern), text, test, loops=len(frame.loops), kind="match")
        frame.conditions = (*outside, condition)
        if isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None and not case.guard:
            frame.conditions = (*outside, *(others or [condition]))  # ``case _``: none of those above
        elif text != frame.text(node.subject) and not case.guard:
            others.append(replace(condition, negated=True))
        after, frame.names = frame.names, dict(before)
        frame.program.execute(frame, case.body)
        frame.names = _merged(frame, before, after, frame.names, value)
    frame.conditions = outside
