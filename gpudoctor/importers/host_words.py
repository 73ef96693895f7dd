"""What sentences and files of limits say of the machine: the size of /dev/shm, how much memory may be locked."""

import re
from collections.abc import Iterable
from typing import Any

from gpudoctor.facts import Host, Limit
from gpudoctor.importers.host_commands import size

_NUMBER = r"(?P<size>\d{1,5}(?:\.\d{1,3})?) ?(?P<unit>[KMGTkmgt])(?:i?[bB]|igs?\b|\b)"
# "/dev/shm is 252G", "/dev/shm has 254 GB", "shm size: 64 MB", "(--shm-size=32g)", "64MB of shared memory"
_SHM = (
    re.compile(
        r"(?:/dev/shm\b|\bshm[-_ ]?size\b|\bshared memory(?: \(shm\))?(?: size)?\b|\bshm\b)[`'\")]{0,3}"
        rf"(?P<between>[^\d\n;.?!]{{0,40}}?){_NUMBER}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?<![\w.]){_NUMBER} (?P<between>(?:of |free |available |for |as )*)(?:/dev/shm\b|shared memory\b|shm\b)",
        re.IGNORECASE,
    ),
)
# What is used, wanted, tried by somebody else, or helped, is not what was there when it failed.
_NOT_SIZE = re.compile(
    r"\b(?:need|require|should|try|suggest|recommend|at least|minimum|instead|e\.g|fix|solve|resolve|help"
    r"|works?|worked|increas|rais|chang|set it|if you|please|default|after|segment|file|batch|allocat)",
    re.IGNORECASE,
)
_TAKEN = re.compile(r"\b(?:us(?:es?|ed|ing|age)|takes?|consum|fill)", re.IGNORECASE)
"""Between /dev/shm and the number: that is not its size."""
_USED = re.compile(
    r" ?(?:of (?:shared memory|/dev/shm) )?(?:is |are |was )?(?:used|taken|full)\b", re.IGNORECASE
)
_FAILS_STILL = re.compile(
    r"\b(?:still|but|already|even (?:though|with|after)|although|does ?n.?t help|no (?:change|difference|effect))\b",
    re.IGNORECASE,
)
# "Max locked memory         65536                65536                bytes"
_OF_PROCESS = re.compile(
    r"Max (?P<what>locked memory|open files|processes) +(?P<soft>\w{1,20}) +(?P<hard>\w{1,20})\b"
)
_NAMES = {"locked memory": "memlock", "open files": "nofile", "processes": "nproc"}
# limits.conf, in KiB: "*  soft  memlock  65536"; systemd: "LimitMEMLOCK=64K"
_OF_LOGINS = re.compile(
    r"[*\w@%:.-]{1,40}\s+(?:soft|-)\s+memlock\s+(?P<value>\d{1,15}|unlimited|-1|infinity)$"
)
_OF_SERVICE = re.compile(r"(?:DefaultL|L)imitMEMLOCK=(?P<value>infinity|\d{1,15})(?P<unit>[KMGT]?)(?::|$)")
# "the memlock limit is 64 KB", "ulimit -l returns 65536", "max locked memory was set to 64kb"
_LOCKED = re.compile(
    r"(?:\bmemlock\b|\bulimit -l\b|\block(?:ed|able)[ -]memory\b)[`'\"]?"
    r"(?P<between>[^\d\n;.?!=(]{0,40}?[ =:`'\"])(?P<value>\d{1,12}(?!\d|\.\d)|unlimited\b)"
    r" ?(?P<unit>[KMGT]?)(?:i?B(?:ytes)?\b|\b)",
    re.IGNORECASE,
)
_SHIFTS = {"": 10, "K": 10, "M": 20, "G": 30, "T": 40}
_BYTES = re.compile(r"\bbytes\b", re.IGNORECASE)


def read(lines: Iterable[str]) -> Host | None:
    """Read sizes and limits out of prose and files; ``None`` where there are none.

    ``/dev/shm has 254 GB and is empty``, ``Max locked memory  65536  65536  bytes``, ``memlock limit is 64 KB``
    """
    found: dict[str, Any] = {}
    sizes: list[int] = []
    limits: dict[str, Limit] = {}
    for line in lines:
        lowered = line[:2000].lower()
        if ("shm" in lowered or "shared memory" in lowered) and (told := _shm(line[:2000])) is not None:
            sizes.append(told)
        if lowered.startswith("max ") and (row := _OF_PROCESS.match(line[:200])):
            limits.setdefault(
                _NAMES[row["what"]], Limit(soft=_number(row["soft"]), hard=_number(row["hard"]))
            )
        elif ("memlock" in lowered or "ulimit -l" in lowered or "memory" in lowered) and (
            limit := _locked(line[:400])
        ):
            limits.setdefault("memlock", limit)
    if sizes and (max(sizes) >> 10) == (
        min(sizes) >> 10
    ):  # of two sizes nobody knows which was there when it failed
        found["shm_bytes"] = sizes[0]
    return Host(**found, limits=limits) if found or limits else None


def _shm(line: str) -> int | None:
    """Return the one size of /dev/shm that a sentence tells."""
    told = set()
    for sentence in re.split(r"(?<=[.!?]) (?=[A-Z])", line):
        if _of_others(sentence):
            continue
        for pattern in _SHM:
            told |= {
                size(match["size"] + match["unit"].upper())
                for match in pattern.finditer(sentence)
                if not _TAKEN.search(match["between"]) and not _USED.match(sentence[match.end() :])
            }
    told -= {None, 0}
    return told.pop() if len(told) == 1 else None


def _of_others(sentence: str) -> bool:
    """Return whether it tells what should be, or what helped, and not what there was."""
    return bool(_NOT_SIZE.search(sentence)) and not _FAILS_STILL.search(sentence)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() else None


def _locked(line: str) -> Limit | None:
    """Return the soft limit of locked memory that a line of a file, or a sentence, tells."""
    if row := _OF_LOGINS.match(line):
        soft = int(row["value"]) << 10 if row["value"].isdecimal() else None
    elif row := _OF_SERVICE.match(line):
        soft = (
            int(row["value"]) << (_SHIFTS[row["unit"]] if row["unit"] else 0)
            if row["value"].isdecimal()
            else None
        )
    elif (row := _LOCKED.search(line)) and not _of_others(line):
        shift = 0 if not row["unit"] and _BYTES.search(line[row.start() :]) else _SHIFTS[row["unit"].upper()]
        soft = int(row["value"]) << shift if row["value"].isdecimal() else None
    else:
        return None
    return Limit(soft=soft, hard=soft)
