"""What a file defines and imports, by name; and which of the given files an import means."""

import ast
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from gpudoctor.code.known_calls import canonical
from gpudoctor.code.source import Source, Unreadable
from gpudoctor.facts import Place

LIBRARIES = frozenset(sys.stdlib_module_names) | frozenset(
    "torch torchvision torchaudio numpy scipy pandas matplotlib PIL cv2 tqdm yaml transformers datasets accelerate "
    "lightning pytorch_lightning deepspeed timm einops wandb sklearn tensorboardX omegaconf hydra".split()
)
"""First parts of imports that no user's file bears."""
INSTALLED = frozenset(("site-packages", "dist-packages"))
TELLING = (b"torch", b"rank", b"RANK", b"args", b"loader", b"epoch", b"model", b"getattr", b"regist")
"""Without any of these words a file that is imported says nothing of a training, and is not parsed."""
SOURCES = ("lib", "src")
"""Folders of a repository that hold its modules, and are no part of their names."""
GATHERING = ("import_module", "__import__", "iter_modules", "walk_packages")
"""What a package calls that imports its own modules by their file names."""
MOST_NEIGHBOURS = 40
"""Through how many files is looked for what a file that starts a program imports."""
FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class Function(NamedTuple):
    """A function of the script."""

    name: str
    """Qualified: ``Trainer.fit``."""
    node: FunctionNode
    file: "File"
    owner: "Class | None" = None


class Class(NamedTuple):
    """A class of the script."""

    name: str
    node: ast.ClassDef
    file: "File"

    def methods(self) -> tuple[Function, ...]:
        """Return its methods."""
        return self.file.methods(self)


class Files:
    """The files that belong together: those that were asked for, and those of the same folders that they import."""

    def __init__(self, roots: Iterable[Path] = (), names: Mapping[Path, str] | None = None) -> None:
        """Take the folders in which imports are looked for last, and the names that findings call files by."""
        self.roots = tuple(roots)
        self.names = names or {}
        self._found: dict[Path, File | None] = {}
        self._imported: dict[tuple[str, Path], File | None] = {}
        """What an import means, by its name and the folder of the file that holds it."""
        self._below: dict[Path, tuple[Path, ...]] = {}
        self.spelled: dict[Path, frozenset[str] | None] = {}
        """By the folders that were given: which words of `project` stand in their files; made when it is asked for."""

    @property
    def characters(self) -> int:
        """How much text is held; the trees that were made of it take about a hundred times that."""
        return sum(len(file.source.text) for file in self._found.values() if file is not None)

    def clear(self) -> None:
        """Let go of everything; the trees are free at once, without the collector, which would walk all of them."""
        for file in self._found.values():
            if file is not None:
                vars(file).clear()
        self._found.clear()
        self._imported.clear()

    def known(self, path: Path) -> "File | None":
        """Return a file that was taken in, or that another one imports; ``None`` for any other."""
        return self._found.get(path)

    def sources(self) -> Iterator[Source]:
        """Yield what was read."""
        return (file.source for file in self._found.values() if file is not None)

    def add(self, source: Source) -> "File":
        """Take in a file that was read."""
        file = File(source, self)
        self._found[source.path] = file
        return file

    def find(self, dotted: str, beside: Path) -> "File | None":
        """Return the file that an import means, ``None`` for one of a library.

        It is looked for beside the file that imports it, and then in the folders above it up to a root. What lies
        beside an installed package is another library.
        """
        folder = beside.parent
        key = dotted, beside if folder.name in INSTALLED else folder
        if key not in self._imported:
            self._imported[key] = self._find(dotted, beside)
        return self._imported[key]

    def _find(self, dotted: str, beside: Path) -> "File | None":
        parts = dotted.split(".")
        if parts[0] in LIBRARIES:
            return None
        folder = beside.parent
        for _ in range(6):
            if folder.name in INSTALLED and beside.relative_to(folder).parts[0] not in (
                parts[0],
                f"{parts[0]}.py",
            ):
                return None
            for place in (folder, *self._sources(folder)):
                for path in (
                    place.joinpath(*parts).with_suffix(".py"),
                    place.joinpath(*parts, "__init__.py"),
                ):
                    file = self._read(path)
                    if file is not None:
                        return file
            if folder in self.roots or folder.parent == folder:
                return None
            folder = folder.parent
        return None

    def packages(self, path: Path) -> Iterator["File"]:
        """Yield what a file's packages begin with, innermost first: it was run before the file is."""
        folder = path.parent
        for _ in range(6):
            file = self._read(folder / "__init__.py")
            if file is None:
                return
            yield file
            folder = folder.parent

    def _sources(self, folder: Path) -> tuple[Path, ...]:
        """Return the folders below one that scripts put on Python's path: ``sys.path.insert(0, "../lib")``."""
        if folder not in self._below:
            found = (folder / name for name in SOURCES)
            self._below[folder] = tuple(path for path in found if os.path.isdir(path))
        return self._below[folder]

    def _read(self, path: Path) -> "File | None":
        if path not in self._found:
            self._found[path] = None
            try:
                if os.path.isfile(path):
                    data = path.read_bytes()
                    if path.name == "__init__.py" or any(word in data for word in TELLING):
                        source = Source(path, self.names.get(path, str(path)), data)
                        self._found[path] = File(source, self)
            except (OSError, Unreadable):
                pass
        return self._found[path]


class File:
    """One file's names: what each is at the end of the file, as far as that can be told without running it."""

    def __init__(self, source: Source, files: Files) -> None:
        self.source = source
        self.files = files
        self.name = source.name
        self._imports: dict[str, File | None] = {}
        self._methods: dict[ast.ClassDef, tuple[Function, ...]] = {}
        self.places: dict[ast.AST, Place] = {}
        self.texts: dict[ast.AST, str] = {}
        """Where nodes stand and what they say, as far as it was asked: a function called twice asks twice."""
        self.telling: dict[ast.AST, bool] = {}
        """Of methods that were asked after: whether they save, load or train."""
        self.changed: dict[ast.stmt, frozenset[str]] = {}
        """By the first statement of a loop's body: the names that the body gives a value."""

    @cached_property
    def names(self) -> dict[str, ast.AST | str]:
        """Name -> what it is at module level: a definition, the expression last assigned, or an import's full name."""
        found: dict[str, ast.AST | str] = {}
        self._collect(self.source.tree.body, found)
        return found

    @cached_property
    def wraps(self) -> bool:
        """Whether it may wrap a model anywhere."""
        return "Parallel" in self.source.text

    @cached_property
    def stars(self) -> list[str]:
        """Full names of what ``from X import *`` takes all names of."""
        return [
            absolute(node, self)
            for node in self.source.tree.body
            if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
        ]

    @property
    def neighbours(self) -> "Iterator[File]":
        """Yield the given files that it imports, and those that they import in turn, nearest first."""
        waiting, seen = [self], {self.source.path}
        while waiting and len(seen) < MOST_NEIGHBOURS:
            file = waiting.pop(0)
            for name in (*file.imported, *file.gathered):
                other = file.module(name) or file.module(name.rpartition(".")[0])
                if other is not None and other.source.path not in seen:
                    seen.add(other.source.path)
                    waiting.append(other)
                    yield other

    @property
    def gathered(self) -> list[str]:
        """The modules beside a package's ``__init__`` that it imports by their computed names, as registries do."""
        path = self.source.path
        if path.name != "__init__.py" or not any(word in self.source.text for word in GATHERING):
            return []
        return sorted(
            f"{path.parent.name}.{other.stem}" for other in path.parent.glob("*.py") if other != path
        )

    @cached_property
    def imported(self) -> dict[str, ast.AST]:
        """Full names of everything that is imported anywhere in the file, with the statement that does."""
        return self._everywhere[0]

    @cached_property
    def called(self) -> frozenset[str]:
        """Names of functions that are called anywhere in the file, and of methods that are called on ``self``."""
        return self._everywhere[1]

    @cached_property
    def _everywhere(self) -> tuple[dict[str, ast.AST], frozenset[str]]:
        imported: dict[str, ast.AST] = {}
        called: set[str] = set()
        for node in nodes(self.source.tree, without=_LEAVES):
            if isinstance(node, ast.Call):
                function = node.func
                if isinstance(function, ast.Name):
                    called.add(function.id)
                elif isinstance(function, ast.Attribute) and getattr(function.value, "id", "") == "self":
                    called.add(function.attr)
            elif isinstance(node, ast.Import):
                imported.update((alias.name, node) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                module = absolute(node, self)
                imported.update((f"{module}.{alias.name}", node) for alias in node.names)
        return imported, frozenset(called)

    @cached_property
    def classes(self) -> list[Class]:
        """Its classes, those inside functions and classes too."""
        found: list[Class] = []

        def walk(body: list[ast.stmt], front: str) -> None:
            for node in body:
                if isinstance(node, ast.ClassDef):
                    found.append(Class(front + node.name, node, self))
                    walk(node.body, f"{front}{node.name}.")
                elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.If, ast.Try)):
                    walk(node.body, front)

        walk(self.source.tree.body, "")
        return found

    def methods(self, item: Class) -> tuple[Function, ...]:
        """Return the methods of one of its classes."""
        known = self._methods.get(item.node)
        if known is None or (known and known[0].owner != item):  # one class may be known by two names
            known = self._methods[item.node] = tuple(
                Function(f"{item.name}.{node.name}", node, self, item)
                for node in item.node.body
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
            )
        return known

    def module(self, dotted: str) -> "File | None":
        """Return the file that a full name means, ``None`` for a library."""
        if dotted not in self._imports:
            self._imports[dotted] = self.files.find(dotted, self.source.path) if dotted else None
        return self._imports[dotted]

    def _collect(self, body: Iterable[ast.stmt], found: dict[str, ast.AST | str]) -> None:
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                found[node.name] = node
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                found.update(bound(node, self))
            elif isinstance(node, ast.Assign):
                for target in node.targets:
                    if isinstance(target, ast.Name):
                        found[target.id] = node.value
            elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
                found[node.target.id] = node.value
            elif isinstance(node, ast.If):
                self._collect(node.orelse, found)
                self._collect(node.body, found)
            elif isinstance(node, ast.Try):
                for handler in node.handlers:
                    self._collect(handler.body, found)
                self._collect(node.body, found)
            elif isinstance(node, ast.With):
                self._collect(node.body, found)


_PLAIN = frozenset({int, str, bool, float, complex, bytes, type(None), type(...)}) | {
    kind for kind in vars(ast).values() if isinstance(kind, type) and not getattr(kind, "_fields", ())
}
"""What stands in a node and is none with anything below it: lines and names, contexts and operators."""
_LEAVES = _PLAIN | {ast.Name, ast.Constant, ast.alias}
"""With the nodes that hold no other node: half of all."""


def nodes(root: ast.AST, without: frozenset[object] = _PLAIN) -> Iterator[ast.AST]:
    """Yield a node and all below it that has parts, in no order; `ast.walk` takes three times as long.

    What is of a type in `without` is left out, with all below it.
    """
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        for value in node.__dict__.values():
            kind = value.__class__
            if kind is list:
                waiting += [item for item in value if item.__class__ not in without]
            elif kind not in without:
                waiting.append(value)


def bound(node: ast.Import | ast.ImportFrom, file: File) -> dict[str, str]:
    """Return the names that an import binds, with the full name of each."""
    if isinstance(node, ast.Import):
        return {
            alias.asname or alias.name.partition(".")[0]: canonical(
                alias.name if alias.asname else alias.name.partition(".")[0]
            )
            for alias in node.names
        }
    module = absolute(node, file)
    return {
        alias.asname or alias.name: canonical(f"{module}.{alias.name}" if module else alias.name)
        for alias in node.names
        if alias.name != "*"
    }


def absolute(node: ast.ImportFrom, file: File) -> str:
    """Return the module that a ``from`` import names; a relative one is looked for from its folder."""
    if not node.level:
        return node.module or ""
    parts = file.source.path.parent.parts
    parts = parts[: len(parts) - (node.level - 1)]
    names = [*parts[-1:], *([node.module] if node.module else [])] if node.level > 1 else [node.module or ""]
    return ".".join(name for name in names if name)
