"""Find the checks and probes: those that are installed, through entry points, and those of a local folder.

An entry point's value is a package; every module below it that defines ``check`` is a check, every module that
defines ``probe`` or ``script`` is a probe. The built-in ones come through the same door.
"""

import contextlib
import functools
import importlib
import os
import pkgutil
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar, get_type_hints

from msgspec import Struct

from gpudoctor.bad_input import BadInput
from gpudoctor.check_loading import NotLoaded, load_check, load_package
from gpudoctor.guard import THE_USERS, told
from gpudoctor.model import FAMILIES, Check, layer
from gpudoctor.report import CheckStatus, Result

T = TypeVar("T")

CHECKS = "gpudoctor.checks"
PROBES = "gpudoctor.probes"
OWN = "gpudoctor_checks"
"""The package of the built-in checks."""
BUILT_IN = {CHECKS: OWN, PROBES: "gpudoctor.probes"}
"""What gpudoctor's own entry points name."""
DEADLINE = 15.0


class Unknown(BadInput):
    """No check bears that name; the text offers the nearest."""


class Unloadable(BadInput):
    """A check cannot be loaded; the text says which and why."""

    exit_code = 3


@dataclass(frozen=True)
class Probe:
    """How one group of facts is obtained."""

    name: str
    topics: dict[str, type[Struct]]
    module: str
    script: Path | None = None
    """Runs under the patient's interpreter; without it, `module` runs under gpudoctor's."""
    deadline: float = DEADLINE
    """Seconds."""
    arguments: tuple[str, ...] = ()
    """Given to the script."""


@dataclass(eq=False)
class Registry:
    """What is installed. Check modules are imported when they are asked for, each once."""

    folders: tuple[Path, ...] = ()
    """Folders of local check files (``--checks``)."""
    failed: list[Result] = field(default_factory=list)
    """One for each check, probe or plug-in that was asked for and could not be loaded."""
    _loaded: dict[str, Check | Result] = field(default_factory=dict)

    @classmethod
    def of(cls, checks: "Registry | Iterable[Path]") -> "Registry":
        """Return a registry as it is, or one of what is installed and of folders of local check files.

        Without such folders it is the same one each time: a program may explain a thousand logs.
        """
        if isinstance(checks, Registry):
            return checks
        if isinstance(checks, (str, Path)):
            raise BadInput(f"checks is a list of folders, and not {str(checks)!r}")
        folders = tuple(Path(folder) for folder in checks)
        return cls(folders) if folders else _installed()

    @cached_property
    def modules(self) -> dict[str, tuple[str, Path | None]]:
        """Every check's id, with its module's name and, for a local file, its path; in layer order.

        A check of another package replaces the built-in one of its id, and a local one both.
        """
        found: dict[str, tuple[str, Path | None]] = {}
        for package in sorted(self._packages(CHECKS), key=lambda package: package.__name__ != OWN):
            found |= _checks_in(package.__name__, tuple(package.__path__))
        for folder in self.folders:
            for path in sorted(folder.glob("*.py")) + sorted(folder.glob("*/*.py")):
                if not path.stem.startswith("_") and "reproductions" not in path.relative_to(folder).parts:
                    family_name = path.parent.name if path.parent != folder else "local"
                    found[_id(path.stem)] = (f"gpudoctor_local.{family_name}.{path.stem}", path)
        return dict(sorted(found.items(), key=lambda item: (layer(_family(item[1][0])), item[0])))

    def check(self, id: str) -> Check:
        """Load one check; raises `Unknown` with the nearest ids, or `Unloadable` when its module is broken."""
        if id not in self.modules:
            import difflib

            near = difflib.get_close_matches(id, [*self.modules, *FAMILIES], n=1, cutoff=0.5)
            raise Unknown(f"no check is named {id!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
        loaded = self._load(id)
        if isinstance(loaded, Result):
            raise Unloadable(f"check {id}: {loaded.reason}")
        return loaded

    def get(self, id: str) -> Check | None:
        """Load one check; ``None`` for one that does not exist or, with a line in `failed`, cannot be loaded."""
        loaded = self._load(id) if id in self.modules else None
        return loaded if isinstance(loaded, Check) else None

    def follows(self, id: str) -> frozenset[str]:
        """Return the ids that a check says it follows from; none for one that does not exist or cannot be loaded."""
        check = self.get(id)
        return check.follows if check is not None else frozenset()

    def checks(self, ids: list[str] | None = None) -> list[Check]:
        """Load several checks, all by default; one that cannot be loaded is a line in `failed`."""
        asked = self.modules if ids is None else ids
        return [check for id in asked if isinstance(check := self._load(id), Check)]

    def mentioning(self, text: str, ids: list[str]) -> list[str]:
        """Return those of some ids whose module's source holds a text: no other one has to be imported for it."""
        return [id for id in ids if self._mentions(*self.modules[id], text)]

    @staticmethod
    @functools.cache
    def _mentions(name: str, path: Path | None, text: str) -> bool:
        package, _, last = name.rpartition(".")
        try:
            if path is None:
                with contextlib.redirect_stdout(sys.stderr):
                    family = sys.modules.get(package) or importlib.import_module(package)
                path = next((Path(folder, f"{last}.py") for folder in family.__path__), None)
            return path is None or text.encode() in path.read_bytes()
        except THE_USERS:
            raise
        except (
            BaseException
        ):  # it is compiled, lies in an archive, or its package cannot be loaded: loading it tells
            return True

    def _load(self, id: str) -> Check | Result:
        if id not in self._loaded:
            name, path = self.modules[id]
            load = functools.partial(load_check, site=self.is_site(id), family=_family(name))
            self._loaded[id] = self._guarded(id, lambda: load(id, name, path))
        return self._loaded[id]

    def is_site(self, id: str) -> bool:
        """Return whether a check comes from a local folder or another package."""
        return self.modules[id][0].partition(".")[0] != OWN

    def _guarded(self, id: str, load: Callable[[], T]) -> T | Result:
        """Run what imports a stranger's module; whatever that raises is a line in `failed`, and returned.

        What it prints goes to standard error: standard output is the report's.
        """
        try:
            with contextlib.redirect_stdout(sys.stderr):
                return load()
        except THE_USERS:
            raise
        except BaseException as error:
            reason = str(error) if isinstance(error, NotLoaded) else told(error)
        result = Result(id=id, status=CheckStatus.CRASHED, reason=f"cannot be loaded: {reason}")
        self.failed.append(result)
        return result

    def select(self, only: Sequence[str] = (), skip: Sequence[str] = ()) -> list[str]:
        """Return ids by id or family, with commas between several; raises `Unknown` for a name that is neither."""
        only, skip = ([part for name in names for part in name.split(",")] for names in (only, skip))
        families = {_family(name) for name, _ in self.modules.values()} | set(FAMILIES)
        for name in (*only, *skip):
            if name not in self.modules and name not in families:
                self.check(name)  # says what is nearest

        def named(id: str, names: Sequence[str]) -> bool:
            return id in names or _family(self.modules[id][0]) in names

        return [id for id in self.modules if (not only or named(id, only)) and not named(id, skip)]

    @cached_property
    def probes(self) -> list[Probe]:
        """Load every probe; one that cannot be loaded is a line in `failed`."""
        found = []
        for package in self._packages(PROBES):
            for item in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
                if not item.name.rpartition(".")[2].startswith("_"):
                    probe = self._guarded(f"probe {item.name}", functools.partial(_probe_of, item.name))
                    found += [probe] if isinstance(probe, Probe) else []
        return found

    @cached_property
    def topics(self) -> dict[str, type[Struct]]:
        """The type of every topic that some probe can learn."""
        return {topic: kind for probe in self.probes for topic, kind in probe.topics.items()}

    def reproduction(self, id: str) -> Path | None:
        """Return the folder with ``broken.py`` and ``fixed.py`` of a check, or ``None`` without one."""
        return self.beside(id, f"reproductions/{id}")

    def beside(self, id: str, name: str) -> Path | None:
        """Return a file or folder of the package, or of the folder, that a check comes from; ``None`` without it."""
        if id not in self.modules:
            return None
        module, path = self.modules[id]
        if path is not None:
            roots = [path.parent, path.parent.parent]
        else:
            roots = [Path(p) for p in importlib.import_module(module.split(".")[0]).__path__]
        return next((found for root in roots if (found := root / name).exists()), None)

    def _packages(self, group: str) -> list[ModuleType]:
        if not plugged_in():
            return [importlib.import_module(BUILT_IN[group])]
        from importlib import metadata

        packages = []
        for point in metadata.entry_points(group=group):
            name = f"plug-in {point.name} ({point.value})"
            package = self._guarded(name, functools.partial(load_package, point))
            packages += [package] if isinstance(package, ModuleType) else []
        return packages


@functools.cache
def plugged_in() -> bool:
    """Return whether another distribution may have checks or probes; if not, ``importlib.metadata`` is not needed.

    To import that takes a tenth of the time in which a pasted log is explained.
    """
    for folder in map(Path, sys.path):
        with contextlib.suppress(OSError):  # another user's folder may not even be looked at
            if folder.is_file():
                return True  # an archive, whose distributions are not folders
            if any(_has_points(folder, info) for info in os.listdir(folder)):
                return True
    return False


def _has_points(folder: Path, info: str) -> bool:
    """Return whether a folder's entry is of another distribution, and names gpudoctor among its entry points."""
    own = info.startswith(("gpudoctor-", "gpudoctor.egg-info"))
    if own or not info.endswith((".dist-info", ".egg-info", "EGG-INFO")):
        return False
    try:
        return b"gpudoctor." in (folder / info / "entry_points.txt").read_bytes()
    except OSError:
        return False


@functools.cache
def _installed() -> Registry:
    return Registry()


@functools.cache
def _checks_in(package: str, folders: tuple[str, ...]) -> dict[str, tuple[str, None]]:
    """Return every check of an installed package, as `Registry.modules` has them; looked for once in a process."""
    found = {}
    for family in pkgutil.iter_modules(folders, f"{package}."):
        if family.ispkg and not family.name.endswith(".reproductions"):
            paths = [f"{folder}/{family.name.rpartition('.')[2]}" for folder in folders]
            for module in pkgutil.iter_modules(paths, f"{family.name}."):
                found[_id(module.name)] = (module.name, None)
    return found


def _id(module: str) -> str:
    return module.rpartition(".")[2].replace("_", "-")


def _family(module: str) -> str:
    return module.split(".")[-2]


def _probe_of(name: str) -> Probe:
    module = importlib.import_module(name)
    name = name.rpartition(".")[2]
    script: str | None = getattr(module, "script", None)
    if script is None:
        topics: dict[str, Any] = {name: get_type_hints(module.probe)["return"]}
        return Probe(name, topics, module.__name__, deadline=getattr(module, "deadline", DEADLINE))
    folders = [Path(module.__file__ or "").parent, Path(__file__).parent / "patient"]
    path = next((folder / script for folder in folders if (folder / script).is_file()), None)
    if path is None:
        raise ImportError(f"its script {script} does not exist")
    return Probe(name, module.topics, module.__name__, path, getattr(module, "deadline", DEADLINE))
