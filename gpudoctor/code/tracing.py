"""Follow a program from where it starts, and return what it does."""

import ast
import re
from collections.abc import Iterator

from msgspec.structs import replace

from gpudoctor.code.classes import kind_of, module_classes
from gpudoctor.code.configurations import CONFIGURATIONS, configuration
from gpudoctor.code.definitions import Class, File, Function, FunctionNode
from gpudoctor.code.entry import STARTING, entry
from gpudoctor.code.environment_variables import named_value
from gpudoctor.code.expressions import evaluate
from gpudoctor.code.known_calls import FRAMEWORKS, TRAINERS
from gpudoctor.code.names import ancestors, method_of
from gpudoctor.code.program import DEEPEST, MOST_CALLS_OF_ONE, Frame, Program, TooLong, either, mixed, one_of
from gpudoctor.code.statements import execute
from gpudoctor.facts import (
    PREFIXES,
    UNKNOWN,
    UNSAFE_LOADS,
    Argument,
    Condition,
    Known,
    Script,
    Signature,
    Value,
)


def trace(file: File) -> Script:
    """Return what the program that starts with a file does; never raises for what the file holds."""
    program = Program(file)
    program.evaluate, program.execute, program.follow = evaluate, execute, _follow
    frame = Frame(program, file)
    program.globals[file.name] = frame
    complete = True
    try:
        execute(frame, file.source.tree.body)
        _deferred(frame)
        _only_defined(frame)
    except (TooLong, RecursionError):
        complete = False
    things = tuple(
        replace(thing, escapes=True) if thing.number in program.escaped else thing for thing in program.things
    )
    script = Script(
        path=file.name,
        calls=tuple(program.calls),
        exits=tuple(program.exits),
        things=things,
        classes=tuple(module_classes(frame)),
        signatures=(
            *(_signature(frame, n) for n in file.names.values() if isinstance(n, FunctionNode)),
            *(
                _signature(frame, m.node, m.name)
                for item in file.classes
                for m in item.methods()
                if _bound(m)
            ),
        ),
        imports={name: frame.place(node) for name, node in file.imported.items()},
        frameworks=tuple(sorted(frameworks(frozenset(file.imported)))),
        notebook=file.source.notebook,
        spelled=_spelled(program),
        complete=complete,
    )
    vars(
        program
    ).clear()  # it and its frames hold each other: without this, trees would stay until they are collected
    return script


def _spelled(program: Program) -> frozenset[str]:
    """Return the wrappers' prefixes, and a variable of torch's, that the program's files spell out."""
    files = {id(item.file): item.file for item in (*program.globals.values(), *program.defined.values())}
    texts = [file.source.text for file in files.values()]
    if any(call.name == "torch.load" for call in program.calls):
        every = (program.file, *files.values())
        texts += [found.source.text for file in every for found in file.files.packages(file.source.path)]
    words = {*PREFIXES.values(), UNSAFE_LOADS}
    return frozenset(w for w in words if any(f'"{w}"' in text or f"'{w}'" in text for text in texts))


def _bound(method: Function) -> bool:
    """Return whether a method is given its object, and no decorator changes it."""
    return not method.node.decorator_list and bool(method.node.args.args)


def _signature(frame: Frame, node: FunctionNode, method: str = "") -> Signature:
    given = node.args
    names = tuple(parameter.arg for parameter in (*given.posonlyargs, *given.args))[1 if method else 0 :]
    return Signature(
        name=method or node.name,
        place=frame.place(node),
        parameters=names,
        required=len(names) - len(given.defaults),
        variadic=given.vararg is not None,
    )


def frameworks(imported: frozenset[str]) -> set[str]:
    """Return the libraries among imports that distribute for the user."""
    found = {FRAMEWORKS[top] for name in imported if (top := name.partition(".")[0]) in FRAMEWORKS}
    return found | ({"transformers"} if imported & TRAINERS else set())


def _follow(
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
    if times >= MOST_CALLS_OF_ONE or caller.depth >= DEEPEST or place in caller.stack:
        for argument in (*positional, *keywords.values()):
            program.escape(argument.value)
        if positional or keywords or self_value:  # what it is called may still tell: is_master(args)
            return named_value(function.node.name) or UNKNOWN
        return program.answers.get(name, UNKNOWN)
    frame = Frame(program, function.file, function.name, caller)
    frame.stack = (*caller.stack, place)
    frame.outer = program.closures.get(function.name) if function.file is caller.file else None
    frame.self_value, frame.owner = self_value, function.owner
    for decorator in function.node.decorator_list:
        text = ast.unparse(decorator)
        frame.contexts += tuple(f"torch.{name}" for name in ("no_grad", "inference_mode") if name in text)
    guards = program.guards.get(function.node, ())
    frame.conditions = (*frame.conditions, *(test for test in guards if test not in frame.conditions))
    frame.base = len(frame.conditions)
    frame.conditions = (*frame.conditions, *_decorated(frame, function))
    _bind_parameters(frame, function, self_value, positional, keywords)
    execute(frame, function.node.body)
    _rejoin(frame)
    if frame.yielded:
        by_rank, from_data = mixed(frame.yielded)
        return Value(text="generator", items=tuple(frame.yielded[:4]), by_rank=by_rank, from_data=from_data)
    outcome = one_of(frame.returned) if frame.returned else Value(Known.LITERAL)
    if len(frame.returned) > 1:
        outcome = _called_after(function, outcome)
    if not outcome.things:
        program.answers[name] = outcome
    return outcome


def _called_after(function: Function, outcome: Value) -> Value:
    """Return the rank after which a function is called that comes to one of several: ``get_local_rank``."""
    kinds = {option.known for option in outcome.possible() if option.is_rank}
    by_name = named_value(function.node.name.lower().removeprefix("get_"))
    mixed_up = by_name is not None and by_name.is_rank and kinds and kinds != {by_name.known}
    return by_name if by_name is not None and mixed_up else outcome


def _rejoin(frame: Frame) -> None:
    """Give attributes what they hold after a function that may be left before its end: either value."""
    after = frame.program.heap
    for heap in frame.heaps:
        if heap is not after:
            for key, value in [(key, value) for key, value in heap.items() if after.get(key) is not value]:
                after[key] = either(after.get(key), value)


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


def _bind_parameters(
    frame: Frame,
    function: Function,
    self_value: Value | None,
    positional: list[Argument],
    keywords: dict[str, Argument],
) -> None:
    given = function.node.args
    parameters = [*given.posonlyargs, *given.args]
    if self_value is not None and parameters:
        frame.names[parameters[0].arg] = self_value
        parameters = parameters[1:]
    defaults = dict(zip([p.arg for p in reversed(parameters)], reversed(given.defaults), strict=False))
    defaults |= {p.arg: d for p, d in zip(given.kwonlyargs, given.kw_defaults, strict=True) if d is not None}
    for number, parameter in enumerate([*parameters, *given.kwonlyargs]):
        name = parameter.arg
        if number < len(positional) and parameter in parameters:
            frame.names[name] = positional[number].value
        elif name in keywords:
            frame.names[name] = keywords[name].value
        elif name in defaults:
            default = evaluate(frame, defaults[name])
            plain = default.is_none or type(default.literal) is int  # ``rank=0`` is for a run without others
            frame.names[name] = (named_value(name) if plain else None) or default
        else:
            frame.names[name] = _option(frame, function, name) or _parameter(frame, name)
    known = {parameter.arg for parameter in (*parameters, *given.kwonlyargs)}
    if given.vararg is not None:
        rest = tuple(argument.value for argument in positional[len(parameters) :])
        frame.names[given.vararg.arg] = (
            Value(Known.SEQUENCE, items=rest) if rest else Value(text=given.vararg.arg)
        )
    if given.kwarg is not None:
        others = {name: argument.value for name, argument in keywords.items() if name not in known}
        frame.names[given.kwarg.arg] = (
            Value(Known.MAPPING, tuple(others), items=tuple(others.values()))
            if others
            else Value(text=given.kwarg.arg)
        )


def _option(frame: Frame, function: Function, name: str) -> Value | None:
    """Return the default that click gives a parameter by a decorator, ``None`` where none does or its name tells."""
    for decorator in function.node.decorator_list:
        if not isinstance(decorator, ast.Call) or named_value(name) is not None:
            continue
        written = [
            a.value for a in decorator.args if isinstance(a, ast.Constant) and isinstance(a.value, str)
        ]
        if name in (text.lstrip("-").replace("-", "_") for text in written):
            default = next(
                (keyword.value for keyword in decorator.keywords if keyword.arg == "default"), None
            )
            if isinstance(default, ast.Constant):
                return Value(Known.ARGUMENT, default.value, text=name)
    return None


def _parameter(frame: Frame, name: str) -> Value:
    """Return what a parameter holds that nobody gives: its name may tell."""
    if name in CONFIGURATIONS:
        return configuration(frame)
    if name == "accelerator" and "accelerate.Accelerator" in frame.file.imported:
        return frame.program.thing("object", "accelerate.Accelerator", frame.place(frame.file.source.tree))
    return named_value(name) or Value(text=name)


def _deferred(frame: Frame) -> None:
    """Go through functions that were handed to somebody who calls them: a launcher's target, a hook."""
    program = frame.program
    while program.deferred:
        value, guard = program.deferred.pop(0)
        item = program.defined.get(value.text)
        plain = program.partials and value.made not in program.partials
        if plain and any(o.text == value.text and o.made in program.partials for o, _ in program.deferred):
            continue  # what functools.partial makes of it, with some of what it takes, is handed over later
        if isinstance(item, Function) and f"{item.file.name}::{item.name}" not in program.followed:
            self_value = program.holder(value, item)
            caller = Frame(program, item.file)
            caller.conditions = guard
            caller.deferred = True
            ready, keywords = program.partials.get(value.made, ([], {}))
            _follow(caller, item, self_value, list(ready), dict(keywords), item.node)


def _only_defined(frame: Frame) -> None:
    """Go through what the program does not come to: what starts it from elsewhere, then what nobody calls."""
    program, file = frame.program, frame.file
    functions = [
        Function(node.name, node, file)
        for node in file.names.values()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    ]
    called = file.called
    started = any(call.method in STARTING for call in program.calls)
    first = None if started else entry(file, functions)
    if first is not None:
        guard = Condition(frame.place(first.node), "__name__ == '__main__'", kind="main")
        _alone(frame, first, None, reached=True, guard=(guard,))
        _deferred(frame)
    _called_by_torch(frame)
    classes = [item for item in file.classes if item.node.name == item.name]
    for wanted in (False, True):
        for function in functions:
            if (function.node.name in called) is wanted:
                _alone(frame, function, None)
        for item in classes:
            _methods(frame, item, called if not wanted else None)
    program.deferred.clear()


def _called_by_torch(frame: Frame) -> None:
    """Go through the methods by which a loader asks the data sets and samplers that other files define."""
    program = frame.program
    for thing in program.things[:MOST_OBJECTS]:
        item = program.defined.get(thing.type) if thing.kind in ("dataset", "sampler") else None
        if isinstance(item, Class) and item.file is not frame.file:
            for name in ("__iter__", "__getitem__"):
                method = method_of(frame, item, name)
                if method is not None:
                    _alone(frame, method, Value(Known.THING, thing=thing.number), reached=True)


MOST_OBJECTS = 400
"""Among how many objects is looked for data sets and samplers."""


def _methods(frame: Frame, item: Class, called: frozenset[str] | None) -> None:
    """Go through the methods of a class that the program does not come to."""
    program = frame.program
    missed = [m for m in item.methods() if f"{m.file.name}::{m.name}" not in program.followed]
    if called is not None:
        own = ("forward", "__init__")
        missed = [m for m in missed if m.node.name not in called or m.node.name in own or _wraps(m)]
    if not missed:
        return
    kind = kind_of(frame, item)
    made = next((thing.number for thing in program.things if thing.type == item.name), None)
    if made is None:
        value = program.thing(kind, item.name, frame.place(item.node))
        program.things[value.thing] = replace(program.things[value.thing], made=-1, escapes=True)
        made = value.thing
    self_value = Value(Known.THING, thing=made)
    first = method_of(frame, item, "__init__")
    if first is not None and first in missed:
        missed = [first, *(m for m in missed if m is not first and m != first)]
    missed.sort(key=lambda method: method.node.name != "__init__" and not _wraps(method))
    if called is not None:
        missed += _inherited(frame, item)
    for method in missed:
        reached = item.name in program.instantiated and kind in ("model", "dataset")
        _alone(frame, method, self_value, reached=reached)


def _inherited(frame: Frame, item: Class) -> list[Function]:
    """Return what a class takes over from one of another file, and does not call itself: to save, to load, to train."""
    known = {method.node.name for method in item.methods()}
    found: list[Function] = []
    for parent in ancestors(frame, item):
        for method in parent.methods() if parent.file is not item.file else ():
            if method.node.name not in known and _tells(method):
                found.append(method)
            known.add(method.node.name)
    return found


SAVING = re.compile(r"torch\.(?:save|load)\(|\.backward\(|DataLoader\(|Parallel\(|Sampler\(|\bdist\.\w+\(")
"""What stands in a method for which a class of another file is gone through for each class that stands on it."""


def _tells(method: Function) -> bool:
    """Return whether a method does something that checks look for."""
    node = method.node
    known = method.file.telling.get(node)
    if known is None:
        body = "\n".join(method.file.source.lines[node.lineno - 1 : node.end_lineno])
        known = method.file.telling[node] = SAVING.search(body) is not None
    return known


def _wraps(method: Function) -> bool:
    """Return whether a method wraps a model: what others do with it comes later than that."""
    if "Parallel" not in method.file.source.text:
        return False
    return any(
        "Parallel" in (node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", ""))
        for node in ast.walk(method.node)
    )


def _alone(
    frame: Frame, function: Function, self_value: Value | None, *, reached: bool = False,
    guard: tuple[Condition, ...] = (),
) -> None:  # fmt: skip
    program = frame.program
    if f"{function.file.name}::{function.name}" in program.followed:
        return
    apart = Frame(program, function.file)
    apart.depth, apart.reached, apart.conditions = 1, reached, guard
    parameters = [*function.node.args.posonlyargs, *function.node.args.args]
    names = {d.id for d in function.node.decorator_list if isinstance(d, ast.Name)}
    if self_value is not None and ("staticmethod" in names or not parameters):
        self_value = None
    program.escape(_follow(apart, function, self_value, [], {}, function.node))
