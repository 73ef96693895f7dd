"""``top``, ``ps aux`` and ``ps -ef``: Python's processes that are dead, or wait inside the kernel."""

import re
from collections.abc import Iterable

from gpudoctor.facts import Process, ProcessRows

_NAME = r"(?P<name>\[?\S{0,80}?(?:python[\d.]{0,5}|pt_main_thread|torchrun|train)\b\S{0,40})"
_ROWS = (
    # top: PID USER PR NI VIRT RES SHR S %CPU %MEM TIME+ COMMAND
    re.compile(
        r"(?P<pid>\d{1,8}) +\S{1,32} +(?:rt|-?\d{1,3}) +-?\d{1,3} +(?:[\d.]{1,12}[kmgt]? +){3}"
        rf"(?P<state>[DZ]) +[\d.]{{1,8}} +[\d.]{{1,8}} +[\d:.]{{1,14}} +{_NAME}"
    ),
    # ps aux: USER PID %CPU %MEM VSZ RSS TTY STAT START TIME COMMAND
    re.compile(
        r"\S{1,32} +(?P<pid>\d{1,8}) +[\d.]{1,8} +[\d.]{1,8} +\d{1,14} +\d{1,14} +\S{1,12} +"
        rf"(?P<state>[DZ])[sl<N+L]{{0,5}} +\S{{1,8}} +[\d:]{{1,12}} +{_NAME}"
    ),
    # ps -ef: UID PID PPID C STIME TTY TIME CMD
    re.compile(
        r"\S{1,32} +(?P<pid>\d{1,8}) +\d{1,8} +\d{1,3} +\S{1,8} +\S{1,12} +[\d:]{1,12} +"
        r"(?P<name>\[\S{1,40}\]) (?P<state><defunct>)"
    ),
)
_MOST = 256


def read(lines: Iterable[str]) -> ProcessRows | None:
    """Read the rows; ``None`` where there is none of such a process.

    ``4711 ana   20   0       0      0      0 Z  99.7  0.0  17:46.89 python``
    """
    found: dict[int, Process] = {}
    listed = False
    for line in lines:
        listed = listed or (line.startswith(("PID USER", "USER")) and "COMMAND" in line[:200])
        if not any(state in line[:200] for state in (" D", " Z", "<defunct>")) or len(found) >= _MOST:
            continue
        match = next((match for row in _ROWS if (match := row.match(line[:400]))), None)
        if match is not None:
            state = match["state"][:1].replace("<", "Z")
            name = match["name"].strip("[]").rpartition("/")[2]
            found.setdefault(int(match["pid"]), Process(pid=int(match["pid"]), name=name, state=state))
    if not found and not listed:
        return None
    return ProcessRows(
        stuck=[p for p in found.values() if p.state == "D"],
        zombies=[p for p in found.values() if p.state == "Z"],
    )
