"""Every command and every edit that gpudoctor can print: of fixes, of those that functions make, and of pages."""

import ast
import functools
import itertools
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from gpudoctor import Fix, Kind
from gpudoctor.facts import Distribution, Distributions, Python
from gpudoctor.launch_command import Launched, Launcher, fitted

sys.path.insert(0, str(Path(__file__).parent))

from shell import TOOLS, Simple, commands

ROOT = Path(__file__).parent.parent.parent
PLACE = re.compile(r"<([a-z_]+)>")
SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
FILE_NAME = re.compile(r"[\w/.-]+\.(py|so|h|bin)")
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
    "mending": "gpudoctor checkpoint fix model.pt -o model-fixed.pt",
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
    "version": "2.15.0",
}
"""What stands in a place ``<port>`` of a fix, or for a value that a function puts into one, by its last name."""


@dataclass(frozen=True)
class Printed:
    """A text that a reader may paste, and where it comes from."""

    text: str
    where: str
    kind: str
    """``COMMAND``, ``EDIT``, ``ADMIN``, ``MITIGATION`` of a fix; ``page`` of a page."""


@dataclass
class Module:
    """The source of a module, and what its names stand for."""

    path: Path
    tree: ast.Module
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)

    @property
    def where(self) -> str:
        """Its path from the root, as ``checks/build/torch_missing.py``."""
        return str(self.path.relative_to(ROOT))


@functools.cache
def modules() -> list[Module]:
    """Return the modules that make fixes: all checks, and what of gpudoctor does."""
    paths = sorted(p for p in (ROOT / "checks").glob("*/*.py") if p.name != "__init__.py")
    paths += sorted(p for p in (ROOT / "gpudoctor").rglob("*.py") if "Fix(" in p.read_text())
    return [_module(path) for path in paths]


def _module(path: Path) -> Module:
    tree = ast.parse(path.read_text())
    return Module(path, tree, {f.name: f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)})


def fixes() -> Iterator[Printed]:
    """Yield what every ``Fix(...)`` in the sources prints, its places filled."""
    for module in modules():
        for scope, call in _calls(module.tree, None):
            values = dict(zip(["summary", "command", "kind"], call.args, strict=False))
            values |= {k.arg: k.value for k in call.keywords if k.arg}
            if "command" not in values:
                continue
            kind = _kind(values.get("kind"), module)
            for text in texts(values["command"], module, scope):
                yield Printed(filled(text), module.where, kind)


def _kind(node: ast.expr | None, module: Module) -> str:
    """Return the kind that a fix is given: its own, or that of another fix of the module."""
    match node:
        case ast.Attribute(attr="kind", value=ast.Name(id=name)):
            for value in _assigned(name, module.tree, inner=False):
                if isinstance(value, ast.Call) and len(value.args) > 2:
                    return _kind(value.args[2], module)
        case ast.Attribute(attr=kind):
            return kind
    return "COMMAND"


def _calls(node: ast.AST, scope: ast.FunctionDef | None) -> Iterator[tuple[ast.FunctionDef | None, ast.Call]]:
    for child in ast.iter_child_nodes(node):
        inner = child if isinstance(child, ast.FunctionDef) else scope
        if isinstance(child, ast.Call) and isinstance(child.func, ast.Name) and child.func.id == "Fix":
            yield scope, child
        yield from _calls(child, inner)


def filled(text: str) -> str:
    """Return a fix's text with a sample in every place."""
    return PLACE.sub(lambda place: SAMPLES.get(place[1], "4"), text)


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
        case ast.BoolOp(values=values):
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
        case ast.Call(func=ast.Attribute(attr="replace", value=value)):
            found = again(value)
        case ast.Call(
            func=ast.Attribute(attr=("install_command" | "uv_install_command") as maker), args=[value, *_]
        ):
            found = [text for requirements in again(value) for text in _installing(maker, requirements)]
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
    for value in _assigned(name, module.tree, inner=False):
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
        for value in _assigned(name, body, inner=where is not None)
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


def _assigned(name: str, body: ast.AST, *, inner: bool) -> Iterator[ast.expr]:
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


def rewritten() -> Iterator[Printed]:
    """Yield the commands of fixes as other launchers are told them."""
    for printed in fixes():
        for launcher in Launcher:
            launched = Launched(launcher, script="main.py", ranks=2)
            (fix,) = fitted([Fix("", printed.text, Kind[printed.kind])], launched)
            if fix.command != printed.text:
                yield Printed(fix.command, f"{printed.where}, for {launcher.value}", printed.kind)


def pages() -> Iterator[Printed]:
    """Yield what stands in backticks or in a code block of a check's page."""
    for module in modules():
        page = ast.get_docstring(module.tree) or ""
        if not module.where.startswith("checks"):
            continue
        for block in FENCE.finditer(page):
            yield Printed(block[2], module.where, "page")
        for span in SPAN.finditer(FENCE.sub("", page)):
            yield Printed(" ".join(span[2].split()), module.where, "page")


def shell_texts() -> Iterator[Printed]:
    """Yield what is meant for a shell: of fixes all that is no Python, of pages what begins with a tool's name."""
    for printed in [*fixes(), *rewritten(), *pages()]:
        if language(printed) == "shell":
            yield printed


def python_texts() -> Iterator[Printed]:
    """Yield what is Python."""
    for printed in [*fixes(), *pages()]:
        if language(printed) == "python":
            yield printed


def shell_commands() -> Iterator[Simple]:
    """Yield every simple command of every shell text."""
    for printed in shell_texts():
        yield from commands(printed.text)


def language(printed: Printed) -> str:
    """Return ``shell``, ``python``, ``json``, or nothing for what is none of them."""
    text = printed.text
    if UNREAD in text or text in NEITHER:
        return ""
    if printed.kind == "page":
        return _of_page(text)
    if text.startswith(("{", '"')):
        return "json"
    if printed.kind in ("COMMAND", "ADMIN"):
        return "shell"
    return "python" if printed.kind == "EDIT" or _is_python(text) else "shell"


def _of_page(text: str) -> str:
    words = [word for word in text.split() if not re.fullmatch(r"[A-Z]\w+=\S*", word)]
    tool = words[0].rstrip(";").rsplit("/", 1)[-1] if words else ""
    if (not words or tool in TOOLS) and ("/" not in text or len(text.split()) > 1):
        return "shell"
    if FILE_NAME.fullmatch(text) or not _is_python(text) or not re.search(r"[.(]\w", text):
        return ""
    return "" if text.startswith("-") else "python"


def _is_python(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


NEITHER = {
    "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 1": "arguments of Megatron's scripts",
    "--bf16 False --fp16 True": "arguments of a script that takes transformers' TrainingArguments",
    "resources: {limits: {nvidia.com/gpu: 1}}": "a part of a pod's specification, YAML",
    "volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 8Gi}}]\n"
    "volumeMounts: [{name: shm, mountPath: /dev/shm}]": "a part of a pod's specification, YAML",
}
"""Texts that are neither shell nor Python nor JSON, and what they are."""
