"""How notebooks and debuggers show an exception: frames with an arrow, or the innermost one first."""

import itertools
from collections.abc import Sequence
from typing import NamedTuple

from gpudoctor.logs.lines import Line
from gpudoctor.patterns import late_pattern

IPYTHON = late_pattern(
    r"^File \[?(?P<path>(?:[A-Za-z]:)?[^\s:\]]{1,300}):(?P<line>\d+)\b.{0,800}? in (?P<function>[\w.<>]+)|"
    r"^(?P<cell>(?:Cell |Input )?In ?\[\d+\]), (?:in )?(?:<cell )?line:? ?(?P<at>\d+)"
)
"""A frame of IPython's: ``File ~/work/engine.py:41, in fit(model)``, ``Cell In[12], line 5``."""
IPYTHON_OLD = late_pattern(
    r"^\[?(?P<path>[^\s\]]{1,300}\.(?:py|py[xd]|pxi)|<[\w-]{1,80}>)(?P<link>\]\(\S{0,300}\))? in "
    r"(?P<function><cell line: \d+>|[\w.<>]+)(?:\(.*)?$"
)
"""The same before IPython 8, a link in Colab's: the arrow below it has the number of the line."""
IPYTHON_HEADER = late_pattern(
    r"^(?P<type>(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{1,80}) {2,}Traceback \(most recent call last\)"
)
"""IPython names the exception above the frames, and below them again with its message."""
ARROW = late_pattern(r"^-{1,}> ?(?P<line>\d+) +(?P<text>\S.*)")
"""The line of IPython's source that was running."""
NUMBERED = late_pattern(r"^\d{1,6}(?: |$)")
"""A line of source that IPython shows around it."""
DEBUGGED = late_pattern(
    r"^(?:Exception has occurred|\u53d1\u751f\u5f02\u5e38): (?P<type>(?:[A-Za-z_]\w{0,60}\.){0,8}[A-Z]\w{1,80})\b"
)
"""Visual Studio Code's debugger, in English and in Chinese: the message stands in the next line."""


class Call(NamedTuple):
    """A frame, as a notebook shows it."""

    path: str
    line: int
    function: str
    text: str
    """The line of source that was running."""


def is_frame(text: str) -> bool:
    """Return whether a line is a frame as IPython shows it, of any version."""
    return IPYTHON.match(text) is not None or (" in " in text and IPYTHON_OLD.match(text) is not None)


def called(text: str, below: Sequence[Line], *, old: bool) -> Call | None:
    """Return the frame of IPython's that a line is; `old` where IPython has named the exception above it."""
    frame = IPYTHON.match(text)
    if frame is None:
        frame = IPYTHON_OLD.match(text)
        row = next((row.text for row in below if row.text), "")
        source = NUMBERED.match(row) or ARROW.match(row)
        old = old or (frame is not None and (frame["link"] is not None or source is not None))
        if frame is None or not old:
            return None
    rows = itertools.takewhile(lambda line: not IPYTHON.match(line.text), below)
    arrow = next((found for row in rows if (found := ARROW.match(row.text))), None)
    said = frame.groupdict()
    number = said.get("line") or said.get("at") or (arrow["line"] if arrow else "0")
    path, function = said.get("path") or said["cell"], said.get("function") or "<module>"
    return Call(path, int(number), function, arrow["text"] if arrow else "")
