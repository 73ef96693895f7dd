"""What still tells of a failure where somebody cut a log in the middle of it."""

from collections.abc import Sequence

from gpudoctor.logs.line_kinds import FINISHED, is_last_step
from gpudoctor.logs.lines import Line
from gpudoctor.logs.tracebacks import LATE
from gpudoctor.patterns import late_pattern

STACK_OF_C10 = late_pattern(r"^frame #\d+: ")
"""A call of the stack of a C++ exception of torch (c10/util/Backtrace.cpp)."""
TELLING_CALL = late_pattern(r"\b(?:c10d|at|torch|c10::cuda)::(?!.{0,60}\b(?:Error|torchCheckFail|Logging)\b)")
HEADER_BEGUN = late_pattern(r"\bTraceback \((?:most(?: recent(?: call(?: last\)?)?)?)?)?:?$")
"""The first line of a traceback, or as much of it as was left."""


def stack_alone(lines: Sequence[Line], last: Sequence[Line]) -> Line | None:
    """Return the most telling call of a stack of C++ of whose exception the message was cut off.

    The log, of which `last` are the last lines, ends in the stack, or begins with it; ``None`` without one.
    """
    if last and STACK_OF_C10.match(last[-1].text):
        return _most_telling(last)
    first = next((at for at, line in enumerate(lines) if line.text), None)
    if first is None or not STACK_OF_C10.match(lines[first].text):
        return None
    return _most_telling(lines[first : first + len(last)])


def begun_traceback(lines: Sequence[Line]) -> bool:
    """Return whether a log ends in the first line of a traceback, or in what is left of it.

    Not where Python ignores what is raised, or where the work was done by then.
    """
    said = [line for line in lines if line.text][-3:]
    if not said or not HEADER_BEGUN.search(said[-1].text[-80:]):
        return False
    above = [line.text for line in said[:-1]]
    return not any(LATE.search(text) or FINISHED.search(text) or is_last_step(text) for text in above)


def _most_telling(lines: Sequence[Line]) -> Line:
    calls = [line for line in lines if STACK_OF_C10.match(line.text)]
    return next((line for line in calls if TELLING_CALL.search(line.text)), calls[0])
