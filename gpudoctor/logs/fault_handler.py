"""What Python's fault handler wrote of a crash: where in the user's own code it was."""

import itertools
from collections.abc import Sequence

from gpudoctor.logs.lines import Line
from gpudoctor.logs.raised import NOT_OWN, OWN_MOST, Frame
from gpudoctor.logs.tracebacks import FRAME
from gpudoctor.patterns import late_pattern

STACK = late_pattern(r"^(?:Current thread|Thread) 0x[0-9a-f]+ .{0,80}\(most recent call first\):")


def spoke(lines: Sequence[Line]) -> bool:
    """Return whether the fault handler was switched on already: the stack of a thread is here as it writes one."""
    return any(STACK.match(line.text) for line in lines)


def crashed_at(lines: Sequence[Line], place: int) -> Frame | None:
    """Return the innermost line of the user's own files in the stack that Python's fault handler wrote of a crash.

    Its word of the crash stands at `place`, the stack below it, the innermost call in front.
    """
    if not lines[place].text.startswith("Fatal Python error: "):
        return None
    below = [line.text for line in lines[place + 1 : place + OWN_MOST]]
    at = next((at for at, text in enumerate(below) if text.startswith("Current thread 0x")), len(below))
    found = map(FRAME.match, itertools.takewhile(FRAME.match, below[at + 1 :]))
    frames = (Frame(frame["path"], int(frame["line"]), None) for frame in found if frame is not None)
    return next((frame for frame in frames if not NOT_OWN.search(frame.path)), None)
