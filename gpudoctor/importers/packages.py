"""The lists of packages in collect_env's output: ``[pip3] torch==2.5.1``, ``[conda] pytorch 2.5.1``."""

import re
from dataclasses import dataclass, field

from packaging.version import InvalidVersion, Version

from gpudoctor.facts.distributions import CONDA_NAMES, Distribution, Distributions, normal_name

ENTRY = re.compile(r"\[(?P<list>pip\d?|uv|conda)\]\s*(?:\* )?\s*(?P<entry>.*)")
# "torch==2.5.1"; pip's old list had "torch (0.4.1)"
_PIP = re.compile(r"(?P<name>[A-Za-z0-9][\w.-]{0,80})\s{0,4}(?:==|\()\s{0,4}(?P<version>\d[\w.+!-]{0,80})")
_CONDA = re.compile(r"(?P<name>[A-Za-z0-9_][\w.-]{0,80})\s+(?P<version>\d[\w.+!-]{0,80})(?:\s|$)")


@dataclass
class Lists:
    """Both lists, as they were printed."""

    pip: list[Distribution] = field(default_factory=list)
    conda: list[Distribution] = field(default_factory=list)
    pip_answered: bool = False
    """pip gave a list, though perhaps without any package that matters."""


def read(lines: list[str]) -> Lists:
    """Read the lists; ``[pip3] No relevant packages`` and ``[conda] Could not collect`` hold none."""
    lists = Lists()
    for line in lines:
        match = ENTRY.match(line) if line.startswith("[") else None
        if match is None:
            continue
        pattern, found = (_CONDA, lists.conda) if match["list"] == "conda" else (_PIP, lists.pip)
        if entry := pattern.match(match["entry"]):
            name = CONDA_NAMES.get(entry["name"], entry["name"]) if pattern is _CONDA else entry["name"]
            found.append(Distribution(name=name, version=entry["version"]))
        if found is lists.pip and "could not" not in match["entry"].lower():
            lists.pip_answered = True
    return lists


def installed(lists: Lists, torch_version: str | None) -> Distributions:
    """Make one list of both: first that of the environment that runs, then what the other one says otherwise.

    pip's list is that of the Python that ran collect_env, and names conda's packages too. Before 2021
    collect_env asked whatever ``pip3`` came first, which may be another Python's: where conda's torch is the
    version that was imported and pip's is not, conda's list goes first. A package on which both agree comes
    once; an entry of the other list has that list's name for its location.
    """
    first, second, other = lists.pip, lists.conda, "conda list"
    if torch_version and _is(lists.conda, torch_version) and not _is(lists.pip, torch_version):
        first, second, other = lists.conda, lists.pip, "pip list"
    known = {(normal_name(d.name), release(d.version)) for d in first}
    added = [
        Distribution(name=d.name, version=d.version, location=other if first else "")
        for d in second
        if (normal_name(d.name), release(d.version)) not in known
    ]
    return Distributions(installed=first + added)


def release(version: str) -> str:
    """Return a version without what a build adds to it: ``0.7.0a0+ac17b64`` is conda's ``0.7.0``."""
    try:
        return ".".join(map(str, Version(version).release))
    except InvalidVersion:
        return version.partition("+")[0]


def _is(listed: list[Distribution], version: str) -> bool:
    return any(release(d.version) == release(version) for d in Distributions(installed=listed).named("torch"))
