"""Find the checks and probes: those that are installed, through entry points, and those of a local folder.

An entry point's value is a package; every module below it that defines ``check`` is a check, every module that
defines ``probe`` or ``script`` is a probe. The built-in ones come through the same door.
"""

import difflib
import importlib
import importlib.util
import pkgutil
import sys
from dataclasses import dataclass, field
from functools import cached_property
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any, get_type_hints

from msgspec import Struct

from gpudoctor.model import FAMILIES, Check

CHECKS = "gpudoctor.checks"
PROBES = "gpudoctor.probes"
DEADLINE = 15.0


class Unknown(Exception):
    """No check bears that name; the text offers the nearest."""


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


@dataclass
class Registry:
    """What is installed. Check modules are imported when they are asked for, one by one."""

    folders: tuple[Path, ...] = ()
    """Folders of local check files (``--checks``)."""
    trouble: list[str] = field(default_factory=list)
    """One line for each module or plug-in that could not be loaded."""

    @cached_property
    def modules(self) -> dict[str, tuple[str, Path | None]]:
        """Every check's id, with its module's name and, for a local file, its path; in layer order."""
        found: dict[str, tuple[str, Path | None]] = {}
        for package in self._packages(CHECKS):
            for family in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
                if family.ispkg and not family.name.endswith(".reproductions"):
                    paths = [f"{p}/{family.name.rpartition('.')[2]}" for p in package.__path__]
                    for module in pkgutil.iter_modules(paths, f"{family.name}."):
                        found.setdefault(_id(module.name), (module.name, None))
        for folder in self.folders:
            for path in sorted(folder.glob("*.py")) + sorted(folder.glob("*/*.py")):
                if not path.stem.startswith("_") and "reproductions" not in path.relative_to(folder).parts:
                    family_name = path.parent.name if path.parent != folder else "local"
                    found[_id(path.stem)] = (f"gpudoctor_local.{family_name}.{path.stem}", path)
        return dict(sorted(found.items(), key=lambda item: (_layer(item[1][0]), item[0])))

    def check(self, id: str) -> Check:
        """Load one check; raises `Unknown` with the nearest ids, or ImportError when its module is broken."""
        if id not in self.modules:
            near = difflib.get_close_matches(id, [*self.modules, *FAMILIES], n=1, cutoff=0.5)
            raise Unknown(f"no check is named {id!r}" + (f"; did you mean {near[0]!r}?" if near else ""))
        name, path = self.modules[id]
        try:
            module = importlib.import_module(name) if path is None else _load_file(name, path)
        except Exception as error:
            place = f"{error.filename}:{error.lineno}: " if isinstance(error, SyntaxError) else ""
            raise ImportError(
                f"check {id} cannot be loaded: {place}{type(error).__name__}: {error}"
            ) from error
        check = getattr(module, "check", None)
        if not isinstance(check, Check):
            raise ImportError(f"check {id} cannot be loaded: {path or name} defines no `check`")
        check.describe(id=id, family=_family(name), docstring=module.__doc__ or "")
        return check

    def checks(self, ids: list[str] | None = None) -> list[Check]:
        """Load several checks, all by default; one that cannot be loaded is a line in `trouble`."""
        loaded = []
        for id in self.modules if ids is None else ids:
            try:
                loaded.append(self.check(id))
            except ImportError as error:
                self.trouble.append(str(error))
        return loaded

    def select(self, only: tuple[str, ...] = (), skip: tuple[str, ...] = ()) -> list[str]:
        """Return ids by id or family; raises `Unknown` for a name that is neither."""
        families = {_family(name) for name, _ in self.modules.values()} | set(FAMILIES)
        for name in (*only, *skip):
            if name not in self.modules and name not in families:
                self.check(name)  # says what is nearest

        def named(id: str, names: tuple[str, ...]) -> bool:
            return id in names or _family(self.modules[id][0]) in names

        return [id for id in self.modules if (not only or named(id, only)) and not named(id, skip)]

    @cached_property
    def probes(self) -> list[Probe]:
        """Load every probe; one that cannot be loaded is a line in `trouble`."""
        found = []
        for package in self._packages(PROBES):
            for item in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
                if item.name.rpartition(".")[2].startswith("_"):
                    continue
                try:
                    found.append(_probe(importlib.import_module(item.name)))
                except Exception as error:
                    self.trouble.append(
                        f"probe {item.name} cannot be loaded: {type(error).__name__}: {error}"
                    )
        return found

    @cached_property
    def topics(self) -> dict[str, type[Struct]]:
        """The type of every topic that some probe can learn."""
        return {topic: kind for probe in self.probes for topic, kind in probe.topics.items()}

    def introduction(self, family: str) -> str:
        """Return the words with which a family's page begins: its package's docstring."""
        packages = {name.rpartition(".")[0] for name, path in self.modules.values() if path is None}
        docs = [
            importlib.import_module(p).__doc__ for p in sorted(packages) if p.rpartition(".")[2] == family
        ]
        return (docs[0] or "").strip() if docs else ""

    def reproduction(self, id: str) -> Path | None:
        """Return the folder with ``broken.py`` and ``fixed.py`` of a check, or ``None`` without one."""
        name, path = self.modules[id]
        if path is not None:
            roots = [path.parent, path.parent.parent]
        else:
            roots = [Path(p) for p in importlib.import_module(name.split(".")[0]).__path__]
        return next((f for root in roots if (f := root / "reproductions" / id).is_dir()), None)

    def _packages(self, group: str) -> list[ModuleType]:
        packages = []
        for point in metadata.entry_points(group=group):
            try:
                package = point.load()
                if not hasattr(package, "__path__"):
                    raise TypeError("it is no package")
                packages.append(package)
            except (Exception, SystemExit) as error:  # a plug-in's fault must not end the run
                self.trouble.append(
                    f"plug-in {point.name} ({point.value}) cannot be loaded: {type(error).__name__}: {error}"
                )
        return packages


def _id(module: str) -> str:
    return module.rpartition(".")[2].replace("_", "-")


def _family(module: str) -> str:
    return module.split(".")[-2]


def _layer(module: str) -> int:
    family = _family(module)
    return FAMILIES.index(family) if family in FAMILIES else len(FAMILIES)


def _load_file(name: str, path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # get_type_hints looks the module up by its name
    spec.loader.exec_module(module)
    return module


def _probe(module: ModuleType) -> Probe:
    name = module.__name__.rpartition(".")[2]
    script: str | None = getattr(module, "script", None)
    if script is None:
        topics: dict[str, Any] = {name: get_type_hints(module.probe)["return"]}
        return Probe(name, topics, module.__name__, deadline=getattr(module, "deadline", DEADLINE))
    folders = [Path(module.__file__ or "").parent, Path(__file__).parent / "patient"]
    path = next((folder / script for folder in folders if (folder / script).is_file()), None)
    if path is None:
        raise ImportError(f"its script {script} does not exist")
    return Probe(name, module.topics, module.__name__, path, getattr(module, "deadline", DEADLINE))
