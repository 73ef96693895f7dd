"""Every command and every edit that gpudoctor can print: of fixes, of those that functions make, and of pages."""

import ast
import functools
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpudoctor import Fix, Kind
from gpudoctor.launch_command import Launched, Launcher, fitted

sys.path.insert(0, str(Path(__file__).parent))

from expressions import SAMPLES, UNREAD, Module, assigned, texts
from shell import TOOLS, Simple, commands

ROOT = Path(__file__).parent.parent.parent
PLACE = re.compile(r"<([a-z_]+)>")
SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
FILE_NAME = re.compile(r"[\w/.-]+\.(py|so|h|bin)")


@dataclass(frozen=True)
class Printed:
    """A text that a reader may paste, and where it comes from."""

    text: str
    where: str
    kind: str
    """``COMMAND``, ``EDIT``, ``ADMIN``, ``MITIGATION`` of a fix; ``page`` of a page."""


@functools.cache
def modules() -> list[Module]:
    """Return the modules that make fixes: all checks, and what of gpudoctor does."""
    paths = sorted(p for p in (ROOT / "checks").glob("*/*.py") if p.name != "__init__.py")
    paths += sorted(p for p in (ROOT / "gpudoctor").rglob("*.py") if "Fix(" in p.read_text())
    return [_module(path) for path in paths]


def _module(path: Path) -> Module:
    tree = ast.parse(path.read_text())
    return Module(
        str(path.relative_to(ROOT)),
        tree,
        {f.name: f for f in ast.walk(tree) if isinstance(f, ast.FunctionDef)},
    )


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
            for value in assigned(name, module.tree, inner=False):
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


def documents() -> Iterator[Printed]:
    """Yield the shell blocks of the README and of the documents that are written by hand, line by line."""
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        for block in FENCE.finditer(path.read_text()):
            if block[1] == "sh":
                yield from (
                    Printed(line, path.name, "COMMAND") for line in block[2].splitlines() if line.strip()
                )


def shell_texts() -> Iterator[Printed]:
    """Yield what is meant for a shell: of fixes all that is no Python, of pages what begins with a tool's name."""
    for printed in [*fixes(), *rewritten(), *pages(), *documents()]:
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
    if printed.kind in ("COMMAND", "ADMIN") or text.startswith("#SBATCH"):
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
    "USER - nproc 65536": "a line of /etc/security/limits.conf",
    "--tensor-model-parallel-size 2 --pipeline-model-parallel-size 1": "arguments of Megatron's scripts",
    "resources: {limits: {nvidia.com/gpu: 1}}": "a part of a pod's specification, YAML",
    'resources: {limits: {memory: "64Gi"}}': "a part of a pod's specification, YAML",
    'resources: {limits: {cpu: "32"}}': "a part of a pod's specification, YAML",
    "securityContext: {capabilities: {add: [IPC_LOCK]}}": "a part of a pod's specification, YAML",
    "podPidsLimit: 16384": "a line of the kubelet's configuration, YAML",
    "volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 8Gi}}]\n"
    "volumeMounts: [{name: shm, mountPath: /dev/shm}]": "a part of a pod's specification, YAML",
}
"""Texts that are neither shell nor Python nor JSON, and what they are."""
