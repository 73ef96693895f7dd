"""The literals of every check's symptoms, kept beside the checks, so that `explain` imports only the checks it needs.

Deriving them means parsing a thousand patterns, which takes longer than reading a log. A package of checks may carry
the result, ``literals.json``, as `encoded_index` writes it; a test compares the two. Checks without one are read.
"""

import functools
import pkgutil

import msgspec

from gpudoctor.literals import Finder, literals
from gpudoctor.logs.scan import MARKERS
from gpudoctor.model import Check
from gpudoctor.registry import Registry

NAME = "literals.json"
Index = dict[str, list[list[str]]]
"""By id: for each symptom, texts of which a line that shows it holds one."""


def symptom_literals(check: Check) -> list[list[str]]:
    """Return the literals of a check's symptoms."""
    return [sorted(literals(symptom.pattern)) for symptom in check.symptoms]


def encoded_index(checks: list[Check]) -> bytes:
    """Return the index of checks as the file that lies beside them."""
    index = {
        check.id: symptom_literals(check)
        for check in sorted(checks, key=lambda check: check.id)
        if check.symptoms
    }
    return msgspec.json.format(msgspec.json.encode(index), indent=1) + b"\n"


@functools.cache
def registry_finder(registry: Registry) -> Finder:
    """Make the finder of the literals of all checks, and of what any failure shows."""
    indexes: dict[str, Index] = {}
    owned: list[tuple[str, tuple[str, int] | None]] = [(marker, None) for marker in MARKERS]
    for id, (name, path) in registry.modules.items():
        package = name.partition(".")[0]
        if path is None and package not in indexes:
            indexes[package] = _read(package)
        groups = indexes[package].get(id) if path is None else None
        if groups is None and (path is not None or not indexes[package]):
            check = registry.get(id)
            groups = symptom_literals(check) if check is not None else None
        owned += [(text, (id, number)) for number, group in enumerate(groups or []) for text in group]
    return Finder(owned)


def _read(package: str) -> Index:
    """Return the index that a package of checks carries; empty without one."""
    try:
        return msgspec.json.decode(pkgutil.get_data(package, NAME) or b"{}", type=Index)
    except (OSError, msgspec.DecodeError):
        return {}
