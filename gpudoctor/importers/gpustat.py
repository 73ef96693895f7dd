"""``gpustat``: a line for each GPU, with what its processes hold."""

import re
from collections.abc import Iterable
from typing import Any

from gpudoctor.facts import Gpu, GpuProcess
from gpudoctor.importers.nvidia_smi.readings import mebibytes, process_name
from gpudoctor.importers.nvidia_smi.table import Table

_HEAD = re.compile(
    r"\S{1,100}\s{1,60}[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}\s{1,8}"
    r"(?P<driver>\d{3}\.\d{1,3}(?:\.\d{1,3})?)$"
)
_ROW = re.compile(
    r"\[(?P<index>\d{1,3})\] (?P<name>[A-Z][^|]{1,60}?)\s{0,20}\|\s{0,4}"
    r"(?:(?P<celsius>\d{1,3})|\?\?)['°]C,"
    r"(?P<shares>[^|]{0,60})\|(?:[\s\d?/]{3,20}W\s{0,4}\|)?\s{0,8}(?P<used>\d{1,7}) /\s{0,8}(?P<total>\d{1,7}) MB"
    r"(?: \|(?P<who>.{0,2000}))?$"
)
_SHARE = re.compile(r"(\d{1,3}) %")
_PROCESS = re.compile(
    r"(?:[\w.-]{1,40}:)?(?P<name>[^\s/:()]{1,60})/(?P<pid>\d{1,10})\((?P<memory>\d{1,7})M\)"
)
_NOBODY = ("", "(null)")
_MOST = 64


def read(lines: Iterable[str]) -> Table:
    """Read the rows; whoever holds memory is known where the line has their process numbers.

    ``[0] GeForce GTX Titan X | 77'C,  96 % | 11848 / 12287 MB | python/52046(11821M)``
    """
    table, found = Table(), dict[int, Gpu]()
    for line in lines:
        if line.startswith("[") and (match := _ROW.match(line[:2400])) and len(found) < _MOST:
            found.setdefault(int(match["index"]), _gpu(match))
        elif not found and line[-1:].isdecimal() and (head := _HEAD.match(line[:240])):
            table.driver_version = head["driver"]
    table.devices = [found[index] for index in sorted(found)]
    return table if found else Table()


def _gpu(match: re.Match[str]) -> Gpu:
    values: dict[str, Any] = {}
    if match["celsius"]:
        values["temperature_celsius"] = int(match["celsius"])
    shares = _SHARE.findall(match["shares"])
    if len(shares) == 1:  # with -F the fan's comes first
        values["utilization_percent"] = int(shares[0])
    who = (match["who"] or "").strip()
    processes = [
        GpuProcess(pid=int(p["pid"]), memory_bytes=mebibytes(p["memory"]), name=process_name(p["name"]))
        for p in _PROCESS.finditer(who)
    ]
    return Gpu(
        index=int(match["index"]),
        name=match["name"],
        memory_used_bytes=mebibytes(match["used"]),
        memory_bytes=mebibytes(match["total"]),
        processes=processes if processes or (match["who"] is not None and who in _NOBODY) else None,
        **values,
    )
