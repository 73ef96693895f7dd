"""The main thread's frames in what py-spy or Python's faulthandler writes of a process."""

import re
from collections.abc import Iterable

PY_SPY = re.compile(r"^\s+(?P<name>\S.*?) \((?P<path>[^()]+):(?P<line>\d+)\)$")
FAULTHANDLER = re.compile(r"^\s+File \"(?P<path>[^\"]+)\", line (?P<line>\d+) in (?P<name>.+)$")
THREAD = re.compile(r"^(?:Current thread|Thread) 0x|^Thread \S+ \(")
MODULE = "<module>"
"""The main thread alone has a module's own code below."""


def main_thread(lines: Iterable[str]) -> list[re.Match[str]]:
    """Return its frames, the innermost first, with groups name, path and line; py-spy does not always know its name."""
    threads: list[list[re.Match[str]]] = [[]]
    for line in lines:
        if THREAD.match(line):
            threads.append([])
        elif frame := FAULTHANDLER.match(line) or PY_SPY.match(line):
            threads[-1].append(frame)
    return next((frames for frames in threads if any(f["name"] == MODULE for f in frames)), [])
