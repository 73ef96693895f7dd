"""Match lines of a log against the symptoms of checks."""

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple

from gpudoctor.model import Check

# ECMA-48 control sequences: colours, and what progress bars send.
ANSI = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
FRAME = re.compile(r'File "[^"]+", line \d+')
"""The line of a traceback above a quoted line of source: ``raise RuntimeError("...")`` there is no error."""
LINE_MOST = 4000
"""Characters of a line that are searched: an error message fits, a dump of binary data is cut."""


class Match(NamedTuple):
    """One line that is a symptom of a failure."""

    check: Check
    number: int
    """Line number, from 1."""
    line: str
    groups: dict[str, str]
    """What the pattern's named groups caught."""


def plain(text: str) -> str:
    """Remove colours, and everything that a carriage return overwrote."""
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in ANSI.sub("", text).split("\n"))


def matches(text: str, checks: Iterable[Check]) -> list[Match]:
    """Return the first line that shows each check's failure, in the order of the text."""
    text = plain(text)
    lines = text.split("\n")
    said = [(n, line) for n, line in enumerate(lines, 1) if n == 1 or not _source(lines[n - 2], line)]
    found = []
    for check in checks:
        # One search of the whole text is far faster than one for each line: it tells which patterns can match at all.
        patterns = [p for p in map(_compiled, check.symptoms) if p.search(text)]
        for number, line in said if patterns else []:
            match = next((m for p in patterns if (m := p.search(line[:LINE_MOST]))), None)
            if match is not None:
                groups = {name: value for name, value in match.groupdict().items() if value is not None}
                found.append(Match(check, number, line.strip(), groups))
                break
    return sorted(found, key=lambda m: m.number)


def _source(before: str, line: str) -> bool:
    """Tell whether a line quotes source: it stands below the line of a traceback's frame, further to the right."""
    frame = FRAME.search(before[:LINE_MOST])
    return frame is not None and line[frame.start() : frame.start() + 1].isspace()


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)
