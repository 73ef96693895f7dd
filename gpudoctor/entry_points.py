"""What installed packages register with gpudoctor, read from their ``entry_points.txt``.

As ``importlib.metadata.entry_points`` finds it, whose import, with the email parser that it needs, takes as long as a
short log takes to be explained. Where the import path holds more than folders, that module is asked.
"""

import functools
import importlib
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.machinery import PathFinder
from typing import Any

INFO = (".dist-info", ".egg-info")
"""How the folder ends that tells of an installed distribution."""


@dataclass(frozen=True)
class EntryPoint:
    """One line of a distribution's ``entry_points.txt``."""

    name: str
    value: str
    """``package.module:attribute [extras]``, of which the module alone has to be there."""

    def load(self) -> Any:
        """Import what it names; raises whatever the import raises, `ImportError` where the value names nothing."""
        match = re.fullmatch(r"\s*([\w.]+)\s*(?::\s*([\w.]+)\s*)?(?:\[.*\]\s*)?", self.value)
        if match is None:
            raise ImportError(f"{self.value!r} names no module")
        module = importlib.import_module(match[1])
        return functools.reduce(getattr, (match[2] or "").split(".") if match[2] else [], module)


def entry_points(group: str) -> list[EntryPoint]:
    """Return what is registered in a group; of two distributions of one name, the first on the import path counts."""
    if not _folders_alone():
        from importlib import metadata

        return [EntryPoint(point.name, point.value) for point in metadata.entry_points(group=group)]
    found: list[EntryPoint] = []
    names: set[str] = set()
    for folder in sys.path:
        for entry in _listed(folder or "."):
            name = re.sub(r"[-_.]+", "_", os.path.splitext(entry)[0].partition("-")[0]).lower()
            if name not in names:
                names.add(name)
                found += _read(os.path.join(folder, entry, "entry_points.txt"), group)
    return found


def _folders_alone() -> bool:
    """Return whether installed distributions can lie in plain folders alone: in no archive, and found by no hook."""
    hooks = any(hasattr(finder, "find_distributions") for finder in sys.meta_path if finder is not PathFinder)
    return not hooks and not any(path.endswith(".egg") or os.path.isfile(path) for path in sys.path)


def _listed(folder: str) -> list[str]:
    try:
        return [entry for entry in os.listdir(folder) if entry.lower().endswith(INFO)]
    except OSError:  # it does not exist, or may not be read
        return []


def _read(path: str, group: str) -> Iterator[EntryPoint]:
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.strip() for line in file]
    except (OSError, UnicodeDecodeError):
        return
    section = ""
    for line in lines:
        if line.startswith("[") and line.endswith("]"):
            section = line.strip("[]")
        elif line and not line.startswith("#") and section == group:
            name, _, value = line.partition("=")
            yield EntryPoint(name.strip(), value.strip())
