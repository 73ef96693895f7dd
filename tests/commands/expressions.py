"""What an expression of a source can stand for, as far as the source says it: the fixes that functions make."""

import ast
import functools
import itertools
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from gpudoctor.facts import Distribution, Distributions, Python, Setting

BRACES = re.compile(r"\{(\w+)\}")
MOST = 24
"""Texts that one expression may stand for."""
SAMPLES = {
    "call": "torch.load",
    "container": "apptainer",
    "held": "",
    "more": ", weights_only=False",
    "file": "model.pt",
    "gpu": "0",
    "host": "node-1",
    "index": "0",
    "interface": "eth0",
    "job": "4711",
    "module": "random",
    "name": "NAME",
    "names": "numpy",
    "opened": "torch.load",
    "own": "NAME",
    "path": "/data/run1/last.pt",
    "pid": "4711",
    "port": "29500",
    "prefix": "module.",
    "rendezvous": "--rdzv-backend=c10d --rdzv-endpoint=10.0.0.4:29500",
    "saved": "4",
    "total": "WORLD_SIZE",
    "version": "2.15.0",
    "wrapped": "model",
}
"""What stands in a place ``<port>`` of a fix, or for a value that a function puts into one, by its last name."""


@dataclass
class Module:
    """The source of a module, and what its names stand for."""

    where: str
    """Its path from the root, as ``checks/build/torch_missing.py``."""
    tree: ast.Module
    functions: dict[str, ast.FunctionDef]


def texts(
    node: ast.expr, module: Module, scope: ast.FunctionDef | None, seen: frozenset[str] = frozenset()
) -> list[str]:
    """Return the texts that an expression can stand for; a value that only a run knows is a sample in braces."""
    again = functools.partial(texts, module=module, scope=scope, seen=seen)
    match node:
        case ast.Constant(value=str(text)):
            found = [text]
        case ast.JoinedStr(values=parts):
            # What stands in it twice is the same both times.
            spelled = [ast.dump(part) for part in parts]
            choices = {text: again(part) for text, part in zip(spelled, parts, strict=True)}
            every = itertools.islice(itertools.product(*choices.values()), MOST)
            chosen = [dict(zip(choices, values, strict=True)) for values in every]
            found = ["".join(choice[text] for text in spelled) for choice in chosen]
        case ast.FormattedValue(value=value, conversion=conversion):
            found = [text if UNREAD not in text else _sample(value) for text in again(value)]
            found = [repr(text) for text in found] if conversion == ord("r") else found
        case ast.BinOp(op=ast.Add(), left=left, right=right):
            found = [one + other for one in again(left) for other in again(right)]
        case ast.IfExp(body=body, orelse=other):
            found = [*again(body), *again(other)]
        case ast.BoolOp(values=[*values, ast.Constant(value="")]) | ast.BoolOp(values=values):
            found = [
                text if UNREAD not in text else _sample(value) for value in values for text in again(value)
            ]
        case ast.Name(id=name) if name not in seen:
            found = _named(name, module, scope, seen | {name})
        case ast.Call(func=ast.Attribute(attr="dumps"), args=[value]):
            found = [json.dumps(text if UNREAD not in text else _sample(value)) for text in again(value)]
        case ast.Call(func=ast.Attribute(attr="quote"), args=[value]):
            found = [text if UNREAD not in text else _sample(value) for text in again(value)]
        case ast.Call(func=ast.Attribute(attr="join", value=ast.Constant(value=str())), args=[value]):
            found = again(value.elt) if isinstance(value, ast.GeneratorExp) else [UNREAD]
        case ast.Call(func=ast.Attribute(attr="format", value=value)):
            found = [BRACES.sub(lambda name: SAMPLES.get(name[1], "4"), text) for text in again(value)]
        case ast.Call(func=ast.Attribute(attr="replace", value=value)):
            found = again(value)
        case ast.Call(
            func=ast.Attribute(attr=("install_command" | "uv_install_command") as maker), args=[value, *_]
        ):
            found = [text for requirements in again(value) for text in _installing(maker, requirements)]
        case ast.Attribute(attr="removal_command"):
            found = [Setting("NAME", "1", where).removal_command for where in ("", "/etc/nccl.conf")]
        case ast.Attribute(attr="command", value=ast.Name(id=name)):
            found = _command_of(name, module)
        case ast.Call(func=ast.Name(id=name)) if name in module.functions and name not in seen:
            found = _returned(module.functions[name], module, seen | {name})
        case _:
            found = [UNREAD]
    return list(dict.fromkeys(found))[:MOST]


def _installing(maker: str, requirements: str) -> list[str]:
    """Return the install commands of each kind of environment, as `gpudoctor.facts.Python` makes them."""
    with_pip = Distributions(installed=[Distribution(name="pip", version="26.0")])
    pythons = [Python(), Python(executable="/opt/my envs/bin/python")]
    if maker == "uv_install_command":
        return [p.uv_install_command(requirements, reinstall=True) for p in pythons]
    known = [None, with_pip, Distributions(installed=[])]
    return [p.install_command(requirements, d, reinstall=True) for p in pythons for d in known]


def _command_of(name: str, module: Module) -> list[str]:
    """Return the command of a fix that a module has a name for, or of the check's own where a loop goes over them."""
    for value in assigned(name, module.tree, inner=False):
        if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id == "Fix":
            return texts(value.args[1], module, None)
    return list(OWN_FIXES) if name in ("f", "fix") else [UNREAD]


OWN_FIXES = ("docker run IMAGE",)
"""Stands for the check's own fixes, which are read where they are made."""

UNREAD = "{?}"
"""Stands for what the source does not say."""


def _sample(node: ast.expr) -> str:
    """Return a sample for a value that only a run knows, by the last of its names."""
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            pass
        case ast.Call(func=ast.Name(id=name)):
            pass
        case (
            ast.Attribute(value=value)
            | ast.Call(func=ast.Attribute(value=value))
            | ast.Subscript(value=value)
        ):
            return _sample(value)
        case _:
            name = ""
    if name == "text":
        return "module."
    return SAMPLES.get(name, "python" if "executable" in name else "4")


def _named(name: str, module: Module, scope: ast.FunctionDef | None, seen: frozenset[str]) -> list[str]:
    """Return what a name stands for: what is assigned to it, or given for it where it is a parameter."""
    found = [
        text
        for where, body in ((scope, scope), (None, module.tree))
        if body is not None
        for value in assigned(name, body, inner=where is not None)
        for text in texts(value, module, where, seen)
    ]
    if scope is not None and not found:
        given = [a.arg for a in scope.args.args]
        if name in given:
            place = given.index(name)
            for call in ast.walk(module.tree):
                if (
                    isinstance(call, ast.Call)
                    and isinstance(call.func, ast.Name)
                    and call.func.id == scope.name
                ):
                    value = call.args[place] if place < len(call.args) else None
                    if value is not None:
                        found += texts(value, module, _scope_of(call, module), seen)
    return found or [UNREAD]


def _scope_of(node: ast.AST, module: Module) -> ast.FunctionDef | None:
    return next((f for f in module.functions.values() if any(n is node for n in ast.walk(f))), None)


def assigned(name: str, body: ast.AST, *, inner: bool) -> Iterator[ast.expr]:
    """Yield what is assigned to a name, in the functions of a body too where `inner`."""
    nodes = ast.walk(body) if inner else ast.iter_child_nodes(body)
    for node in nodes:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            yield node.value
        for target in targets:
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = zip(target.elts, node.value.elts, strict=False)
                yield from (v for t, v in pairs if isinstance(t, ast.Name) and t.id == name)
        if isinstance(node, ast.NamedExpr) and node.target.id == name:
            yield node.value


def _returned(function: ast.FunctionDef, module: Module, seen: frozenset[str]) -> list[str]:
    values = [n.value for n in ast.walk(function) if isinstance(n, ast.Return) and n.value is not None]
    return [text for value in values for text in texts(value, module, function, seen)] or [UNREAD]
