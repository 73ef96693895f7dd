"""The function with which a program starts that another file, or an installed command, calls."""

import ast

from gpudoctor.code.configurations import CONFIGURATIONS
from gpudoctor.code.definitions import File, Function, nodes
from gpudoctor.code.environment_variables import named_value

STARTING = frozenset({"init_process_group", "spawn", "init_distributed_mode", "init_distributed"})
"""What is called where a program's ranks begin."""
OF_A_RANK = frozenset({"gpu", "gpu_id", "device_id", "proc_id", "process_id", "idx", "index", "i"})
"""Parameters of a function that is started once for each rank, beside those that are called after the rank."""
OPTIONS = ("config", "cfg", "arg", "gpus")
"""What is in the names of parameters that hold options."""
MOST = 60
"""Through how many functions and classes of a file is looked for what one of them begins."""


def entry(file: File, functions: list[Function]) -> Function | None:
    """Return the function of a file that starts its ranks and trains, where nothing in the file calls it.

    Of several the first is taken that no other one names. A function that is told its rank is started by somebody
    who may have set what it needs; one without a loop only makes the process group.
    """
    text = file.source.text
    if not any(word in text for word in STARTING):
        return None
    named: dict[str, frozenset[str]] = {}
    found = [f for f in functions if f.node.name not in file.called and _told_options_alone(f)]
    found = [f for f in found if _begins(file, f.node.name, named)]
    others = [_identifiers(f.node) for f in found]
    outer = [
        f
        for f in found
        if not any(f.node.name in o for o, g in zip(others, found, strict=True) if g is not f)
    ]
    return next(iter(outer or found), None)


def _told_options_alone(function: Function) -> bool:
    """Return whether a function needs nothing but options: what else it is handed, somebody has prepared."""
    given = function.node.args
    needed = [*given.posonlyargs, *given.args]
    needed = needed[: len(needed) - len(given.defaults)]
    names = [parameter.arg for parameter in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    if any(named_value(name) is not None or name.lower() in OF_A_RANK for name in names):
        return False
    return all(p.arg in CONFIGURATIONS or any(word in p.arg for word in OPTIONS) for p in needed)


def _begins(file: File, name: str, named: dict[str, frozenset[str]]) -> bool:
    """Return whether a function, or what it names in its file, starts ranks, and goes round a loop."""
    waiting, seen = [name], {name}
    starts = loops = False
    while waiting and len(seen) < MOST and not (starts and loops):
        node = file.names.get(waiting.pop())
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if node.name not in named:
            named[node.name] = _identifiers(node)
        used = named[node.name]
        starts = starts or bool(STARTING & used)
        loops = loops or LOOP in used
        new = {word for word in used if word in file.names} - seen
        seen |= new
        waiting += sorted(new)
    return starts and loops


LOOP = "<loop>"


def _identifiers(node: ast.AST) -> frozenset[str]:
    """Return the names and attributes that stand in a definition, and whether a loop does."""
    found = set()
    for inner in nodes(node):
        if isinstance(inner, ast.Name):
            found.add(inner.id)
        elif isinstance(inner, ast.Attribute):
            found.add(inner.attr)
        elif isinstance(inner, (ast.For, ast.While, ast.AsyncFor)):
            found.add(LOOP)
    return frozenset(found)


__all__ = ["STARTING", "entry"]
