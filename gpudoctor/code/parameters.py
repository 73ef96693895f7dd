"""What the parameters of a function of the script hold: what a call gives them, a default, or what their names tell."""

import ast

from gpudoctor.code.configurations import CONFIGURATIONS, configuration
from gpudoctor.code.definitions import Function
from gpudoctor.code.environment_variables import named_value
from gpudoctor.code.expressions import evaluate
from gpudoctor.code.program import Frame
from gpudoctor.facts import (
    Argument,
    Known,
    Value,
)


def bind_parameters(
    frame: Frame,
    function: Function,
    self_value: Value | None,
    positional: list[Argument],
    keywords: dict[str, Argument],
) -> None:
    """Give the names of a function's parameters what they hold in its run."""
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
