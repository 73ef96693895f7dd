"""What still tells of a failure where somebody cut a log in the middle of it."""

from collections.abc import Sequence

from gpudoctor.logs.foreign_lines import SETUP
from gpudoctor.logs.line_kinds import FINISHED, REPORTED, is_last_step, is_result
from gpudoctor.logs.lines import Line
from gpudoctor.logs.notebooks import ARROW, NUMBERED
from gpudoctor.logs.recurrence import DIGITS, shapes
from gpudoctor.logs.tracebacks import CUT_FRAME, LATE
from gpudoctor.logs.wrapping import cut_pieces
from gpudoctor.patterns import late_pattern

STACK_OF_C10 = late_pattern(r"^frame #\d+: |^@ +0x[0-9a-f]{6,} ")
"""A call of the stack of a C++ exception of torch (c10/util/Backtrace.cpp), or of a crash as glog writes it."""
CUT_NAME = late_pattern(r"(?:[a-z_]\w*\.){2,}\w*$")
"""The beginning of an exception's name, without the name."""
CUT_LOGGER = late_pattern(r"\s*(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL):[\w.]*$")
"""A logger's name, without what it said."""
CUT_WORD = late_pattern(r"[~/]\S*$|[A-Za-z]:\\\S*$|\S*[./\\_-]$|\[[\d:., T-]*$")
"""A path alone, a word that ends as none does, or the beginning of a time."""
CUT_PHRASE = 5
"""Letters of a phrase that are enough to know it."""
PHRASES = (
    "The above exception was the direct cause of the following exception:",
    "During handling of the above exception, another exception occurred:",
    "Traceback (most recent call last):",
    "-- Process # terminated with the following error:",
    "Sending process # closing signal SIGTERM",
    "Killing subprocess #",
    "Root Cause (first observed failure):",
    "*** Check failure stack trace: ***",
    "CUDA kernel errors might be asynchronously reported at some other API call",
    "For debugging consider passing CUDA_LAUNCH_BLOCKING=#",
)
"""What Python, torch and launchers say around a failure, numbers left out: the beginning of it is no output."""
MOST = 20
"""Lines that a traceback may have whose end was cut off."""
MANY = 60
"""Lines at the end in which the kind of the last one is looked for."""
SOURCE_ROW = late_pattern(r"^(?:[│|] +)?❱ +\d+ ")
PYTEST_HEADING = late_pattern(r"^_{3,} \S.{0,200} _{3,}$")
"""What pytest writes over the source of a test that failed."""
PYTEST_ROW = late_pattern(r"^> {3,}\S")
TELLING_CALL = late_pattern(r"\b(?:c10d|at|torch|c10::cuda)::(?!.{0,60}\b(?:Error|torchCheckFail|Logging)\b)")
HEADER_BEGUN = late_pattern(r"\bTraceback \((?:most(?: recent(?: call(?: last\)?)?)?)?)?:?$")
"""The first line of a traceback, or as much of it as was left."""


FENCE = late_pattern(r"\s*(?:```|~~~)\s*$")
"""The end of a block of code in an issue."""


def fragment(lines: Sequence[Line]) -> int:
    """Return the place of the last line where it is the beginning of a known one, or of one that stands above."""
    said = [place for place, line in enumerate(lines[-MANY:], max(0, len(lines) - MANY)) if line.text]
    if not said or lines[said[-1]].bar:
        return -1
    text = lines[said[-1]].text[:400]
    if CUT_NAME.match(text) or (CUT_WORD.match(text) and not is_result(text)) or _begins_phrase(text):
        return said[-1]
    if CUT_LOGGER.match(lines[said[-1]].full):
        return said[-1]
    last = DIGITS.sub("#", lines[said[-1]].full.strip())
    above = (DIGITS.sub("#", lines[place].full.strip()) for place in said[:-1])
    longer = len(last) > 2 and any(len(row) > len(last) + 3 and row.startswith(last) for row in above)
    return said[-1] if longer else -1


def _begins_phrase(text: str) -> bool:
    """Return whether a line is the beginning of a phrase that stands around failures."""
    # A logger's name may stand in front.
    begun = [DIGITS.sub("#", each) for each in {text, text.rpartition(":")[2].lstrip()}]
    return any(
        len(words) >= CUT_PHRASE and words != phrase and phrase.startswith(words)
        for words in begun
        for phrase in PHRASES
    )


def source_alone(lines: Sequence[Line]) -> Line | None:
    """Return the line of source that ran in a piece of a traceback of which no frame is left: IPython's, or rich's.

    Its neighbours are source with its number too.
    """
    for above, line, below in zip(["", *lines], lines, [*lines[1:], ""], strict=False):
        if SOURCE_ROW.match(line.text) or ARROW.match(line.text):
            near = [row.text for row in (above, below) if isinstance(row, Line)]
            if SOURCE_ROW.match(line.text) or any(map(NUMBERED.match, near)):
                return line
    return None


def failing_test(lines: Sequence[Line]) -> Line | None:
    """Return the line of source that pytest marks in a test that failed, below the test's name."""
    names = (place for place, line in enumerate(lines) if PYTEST_HEADING.match(line.text))
    first = next(names, len(lines))
    return next((line for line in lines[first:] if PYTEST_ROW.match(line.full)), None)


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
    """Return whether a log ends in the first line of a traceback, or in what is left of it or of a frame.

    Not where Python ignores what is raised, or where the work was done by then.
    """
    said = [line for line in lines if line.text and not FENCE.match(line.full)][-MOST:]
    if said and CUT_FRAME.match(said[-1].text):
        return not any(LATE.search(line.text) or line.full.startswith("^C") for line in said)
    if not said or not HEADER_BEGUN.search(said[-1].text[-80:]):
        return False
    above = [line.text for line in said[-3:-1] if not SETUP.search(line.full)]
    return not any(LATE.search(text) or FINISHED.search(text) or is_last_step(text) for text in above)


def _most_telling(lines: Sequence[Line]) -> Line:
    calls = [line for line in lines if STACK_OF_C10.match(line.text)]
    return next((line for line in calls if TELLING_CALL.search(line.text)), calls[0])


def cut_report(lines: Sequence[Line], last: Line) -> Line | None:
    """Return the whole line, where the last one is the rest of one that reports an error and that a terminal cut.

    Rows that say the same of something else each are as wide as each other of themselves, and those that are filled up
    with blanks.
    """
    whole = next((joined for at, joined in cut_pieces(lines).items() if lines[at] is last), None)
    if whole is None:
        return None
    head = lines[whole.place]
    rows = lines[whole.place : whole.place + whole.pieces - 1]
    alike = not shapes([head.text]).isdisjoint(shapes([last.text]))
    alike = alike or any(row.full.endswith("  ") for row in rows)
    return (
        None
        if alike or not (REPORTED.search(head.text, 0, 400) or REPORTED.search(head.full, 0, 400))
        else whole.line
    )
