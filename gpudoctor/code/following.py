"""A call of a function of the script, gone through with what it is given."""

import ast
from collections.abc import Iterator

from gpudoctor.code.definitions import Function
from gpudoctor.code.environment_variables import named_value
from gpudoctor.code.parameters import bind_parameters
from gpudoctor.code.program import DEEPEST, MOST_CALLS_OF_ONE, Frame, either, mixed, one_of
from gpudoctor.code.statements import execute
from gpudoctor.code.unwrapping import without_wrapper
from gpudoctor.facts import (
    UNKNOWN,
    Argument,
    Condition,
    Known,
    Value,
)


def _limit(caller: Frame, function: Function) -> int:
    """Return after which step a function of another file follows no calls any more.

    The further the file is from where the program began, in calls that went from file to file, the less its parts
    matter. So one that is long inside leaves steps for what the program itself does after it.
    """
    program = caller.program
    if function.file is program.file or function.file is caller.file:
        return caller.limit
    most = MOST_ABROAD if caller.reached else MOST_ABROAD_UNCALLED
    if program.steps > LATE:
        most = most // 4 if program.steps <= VERY_LATE else 0
    return min(caller.limit, program.steps + (most >> caller.abroad))


MOST_ABROAD = 16_000
"""Steps for a function of another file and all that it calls, half as many with each file further away."""
MOST_ABROAD_UNCALLED = 4_000
"""The same where nothing in the program comes to the call: the other file is looked at by itself as well."""
LATE, VERY_LATE = 30_000, 50_000
"""After how many steps of a program other files are given a quarter of that, and none."""


def follow(
    caller: Frame,
    function: Function,
    self_value: Value | None,
    positional: list[Argument],
    keywords: dict[str, Argument],
    node: ast.AST,
) -> Value:
    """Go through a function of the script with what it is given, and return what it returns."""
    program = caller.program
    name = f"{function.file.name}::{function.name}"
    times = program.followed.get(name, 0)
    program.followed[name] = times + 1
    place = caller.place(node)
    limit = _limit(caller, function)
    far = program.steps > limit and function.file is not program.file
    deep = caller.depth >= DEEPEST or place in caller.stack
    if times >= MOST_CALLS_OF_ONE or deep or far:
        for argument in (*positional, *keywords.values()):
            program.escape(argument.value)
        if positional or keywords or self_value:  # what it is called may still tell: is_master(args)
            return _by_name(function, positional or keywords)
        return program.answers.get(name, UNKNOWN)
    frame = Frame(program, function.file, function.name, caller)
    frame.limit = limit
    frame.stack = (*caller.stack, place)
    frame.outer = program.closures.get(program.name_of(function))
    frame.self_value, frame.owner = self_value, function.owner
    for decorator in function.node.decorator_list:
        text = ast.unparse(decorator)
        frame.contexts += tuple(f"torch.{name}" for name in ("no_grad", "inference_mode") if name in text)
    guards = program.guards.get(function.node, ())
    frame.conditions = (*frame.conditions, *(test for test in guards if test not in frame.conditions))
    frame.base = len(frame.conditions)
    frame.conditions = (*frame.conditions, *_decorated(frame, function))
    bind_parameters(frame, function, self_value, positional, keywords)
    execute(frame, function.node.body)
    _rejoin(frame)
    if frame.yielded:
        by_rank, from_data = mixed(frame.yielded)
        return Value(text="generator", items=tuple(frame.yielded[:4]), by_rank=by_rank, from_data=from_data)
    outcome = one_of(frame.returned) if frame.returned else Value(Known.LITERAL)
    if len(frame.returned) > 1:
        outcome = without_wrapper(frame, function.node, outcome)
        outcome = _called_after(function, outcome)
    if not outcome.things:
        program.answers[name] = outcome
    return outcome


def _by_name(function: Function, given: object) -> Value:
    """Return what a function's name tells where it is not gone through: of a group, no number of all."""
    by_name = named_value(function.node.name)
    if by_name is None or not given or by_name.sole is not None or by_name.all_but is not None:
        return by_name or UNKNOWN
    return Value(text=function.node.name, by_rank=by_name.by_rank)


def _called_after(function: Function, outcome: Value) -> Value:
    """Return the rank after which a function is called that comes to one of several: ``get_local_rank``."""
    kinds = {option.known for option in outcome.possible() if option.is_rank}
    by_name = named_value(function.node.name.lower().removeprefix("get_"))
    mixed_up = by_name is not None and by_name.is_rank and kinds and kinds != {by_name.known}
    return by_name if by_name is not None and mixed_up else outcome


def _rejoin(frame: Frame) -> None:
    """Give attributes what they hold after a function that may be left before its end: either value."""
    program = frame.program
    for heap in {id(heap): heap for heap in frame.heaps}.values():
        after = program.heap
        if heap is not after:
            for key, value in [(key, value) for key, value in heap.items() if after.get(key) is not value]:
                program.hold(*key, either(after.get(key), value))


_ON_MAIN_PROCESS = ("rank_zero", "main_process", "master_only", "rank0", "rank_0", "local_zero", "only_rank")


def _decorated(frame: Frame, function: Function) -> Iterator[Condition]:
    """Yield the test for rank 0 that a decorator makes: ``@rank_zero_only`` and its like."""
    for decorator in function.node.decorator_list:
        text = frame.text(decorator)
        if any(name in text.lower() for name in _ON_MAIN_PROCESS) or _lets_one_through(frame, decorator):
            yield Condition(frame.place(decorator), f"@{text}", Value(by_rank=True, sole=0))


def _lets_one_through(frame: Frame, decorator: ast.expr) -> bool:
    """Return whether a decorator of the script has a test for the rank around its call, as far as words tell."""
    value = frame.program.evaluate(frame, decorator) if isinstance(decorator, ast.Name) else UNKNOWN
    item = frame.program.defined.get(value.text) if value.known is Known.DEFINED else None
    if not isinstance(item, Function):
        return False
    tests = (node.test for node in ast.walk(item.node) if isinstance(node, ast.If))
    return any("rank" in text or "main" in text for text in (ast.unparse(test).lower() for test in tests))
