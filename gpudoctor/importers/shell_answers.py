"""What only the command above it explains: the number of ``ulimit -n``, the units of ``free -g`` -> the machine."""

import re
from collections.abc import Iterable
from typing import Any

from gpudoctor.facts import Host, Limit
from gpudoctor.importers.shell_prompt import without_prompt

_ULIMIT = re.compile(r"ulimit (?:-[SH] ?)?-(?P<letter>[lnu])$")
_ANSWER = re.compile(r"(?P<value>\d{1,19}|unlimited)$")
_LIMITS = {"l": ("memlock", 1024), "n": ("nofile", 1), "u": ("nproc", 1)}
_FREE = re.compile(r"free(?: -(?P<unit>[bkmg])\w{0,2}| --(?P<long>bytes|kibi|mebi|gibi))?$")
_SHIFTS = {"b": 0, "k": 10, "m": 20, "g": 30}


def read(lines: Iterable[str]) -> Host | None:
    """Read the answers that stand right below their commands; ``None`` where there are none.

    ``$ ulimit -n`` and below it ``1024``; ``$ free -g`` and below it ``Mem:   503   21   398   1   83   479``
    """
    limits: dict[str, Limit] = {}
    memory: dict[str, Any] = {}
    asked, shift, header = "", None, list[str]()
    for line in lines:
        if asked and (match := _ANSWER.match(line)):
            name, factor = _LIMITS[asked]
            soft = None if match["value"] == "unlimited" else int(match["value"]) * factor
            limits.setdefault(name, Limit(soft=soft, hard=soft))
        elif shift is not None and line.startswith("total ") and "available" in line:
            header = line.split()
            continue
        elif shift is not None and header and line.startswith("Mem:") and not memory:
            memory = _memory(dict(zip(header, line.split()[1:], strict=False)), shift)
        asked, header = "", []
        if line and "ulimit" not in line and "free" not in line:
            shift = None
            continue
        if "ulimit" in line[:120] and (match := _ULIMIT.match(without_prompt(line))):
            asked = match["letter"]
        elif "free" in line[:120] and (match := _FREE.match(without_prompt(line))):
            shift = _SHIFTS[(match["unit"] or match["long"] or "k")[0]]
    return Host(limits=limits, **memory) if limits or memory else None


def _memory(row: dict[str, str], shift: int) -> dict[str, int]:
    names = {"memory_bytes": "total", "memory_available_bytes": "available"}
    return {
        name: int(row[key]) << shift
        for name, key in names.items()
        if row.get(key, "").isascii() and row.get(key, "").isdecimal() and len(row[key]) < 16
    }
