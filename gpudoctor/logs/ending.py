"""How a log ends, where no failure in it is known: what a shell or a launcher says last, or in the middle of it all."""

import re
import signal
from collections.abc import Sequence

from msgspec import Struct

from gpudoctor.facts import Run
from gpudoctor.logs.command_ends import STATUS
from gpudoctor.logs.cut_off import begun_traceback, cut_report, failing_test, source_alone, stack_alone
from gpudoctor.logs.exception_names import BARE
from gpudoctor.logs.foreign_lines import NCCLS, OPTION, SETUP, USAGE
from gpudoctor.logs.killed import how_killed, killed_by_somebody
from gpudoctor.logs.languages import FAILED_AS_A_WHOLE
from gpudoctor.logs.line_kinds import (
    ASIDE,
    CLOSING,
    ENOUGH,
    FINISHED,
    GAVE_UP,
    NOISE,
    PROGRESS,
    REPORTED,
    SETTLED,
    WRAPPER,
    is_result,
    reports_failure,
    sentence,
    tells_of_failure,
)
from gpudoctor.logs.lines import Line
from gpudoctor.logs.middle import middle
from gpudoctor.logs.pasted import ASKING, FENCE, PROMPT, complaint
from gpudoctor.logs.recurrence import shapes
from gpudoctor.logs.timeline import Timeline
from gpudoctor.logs.tracebacks import SHORTENED
from gpudoctor.logs.values import HARMLESS
from gpudoctor.patterns import late_pattern
from gpudoctor.text import with_signals

SLURMS = ("srun: ", "slurmstepd")
"""How Slurm's own lines begin: what stands below them was written before."""
PASTE = 60
"""Lines: what somebody wrote in his own words is no longer."""
LAST = 12
"""Lines at the end in which a launcher or a shell says how the command ended."""
TELLING = late_pattern(
    r"[Ee]rror|ERROR|[Ff]ail|[Ff]atal|FATAL|[Cc]annot|[Cc]an't|[Cc]ould not|"
    r"denied|not found|[Ii]nvalid|[Aa]bort|[Kk]ill"
)
MET = late_pattern(
    r"\b(?:encountered|met|hit) (?:an? )?error\b|\b[Bb]roken pipe\b|\bConnection (?:reset|closed) by peer\b"
)
"""What a library warns of again and again that has lost the others."""
NEGATIVE = late_pattern(r"\b(?:[Ee]xit ?codes?|returncode|rc|status)\b\W{0,3}-\d{1,2}\b")
"""The exit code of a process that a signal ended, as the Python program says it that had started it, and goes on."""
TIMED_OUT = 124
"""The exit code of timeout where the limit that it was given was over (timeout(1))."""
WORDS = late_pattern(r"\w")
OPTIONS = late_pattern(r"\[--?[a-z][\w.-]*(?: [A-Z{<|][^\]]{0,200})?\]")
"""How a line begins in the middle of what argparse prints of a program's options."""
TOOL = late_pattern(
    r": (?:command not found|No such file or directory|Permission denied|cannot execute: required file not found)$"
)
"""What a shell says of one of a job's commands; the training may be another."""
ASKED = late_pattern(r"^(?:df|du|stat|which|type): ")
"""A tool that only looks: what is not there ends nothing. DeepSpeed asks df of a cache that is still to be made."""
LIBRARY = late_pattern(r"\b\w+\.(?:cpp|cc|cxx|cu|hpp|h):\d+\]? ")
"""The place in a library's source that its logger writes in front of a line: no shell says that."""
USAGE_MOST = 200
"""Lines at the end among which a program may say how it is used; several ranks say it."""
WARNED = late_pattern(r"\b[A-Z]\w*Warning: ")
"""A warning of Python's: it may quote an error's words, and ends nothing."""
ONLY_WARNED = late_pattern(r"\bW\d{4} [\d:.]{8,18} +\d+ [\w./-]+\.(?:cc|h|py):\d+\] $")
"""In front of what torch's Python, or a program with the same kind of log, only warns of."""
NCCL_WARNS = late_pattern(
    r"\bNCCL WARN (?!.*(?:\b[Ii]gnor|[Dd]isabl|\bdefault|\binstead\b|[Rr]etrying|NCCL_IGNORE_))"
)
"""What NCCL warns of: mostly why it then fails, where it does not say what it does about it."""
PARTS = late_pattern(
    r"\b(?:[Cc]ompleted?|[Ff]inished|[Dd]one)\b\W.{0,80}\b[1-9]\d* (?:succeeded|successful|ok|good|passed|completed)\b"
    r".{0,40}\b\d+ (?:failed|errors?)\b"
)
"""What a program that tries several things, such as a sweep, says at its end; a test suite says it in other words."""


class Ending(Struct):
    """How a log, or the command that printed it, ended."""

    said: str
    """In a sentence's middle, such as ``python ended with exit code 7 after 3 s``."""
    lines: list[Line]
    """What is most telling of its last lines."""
    certain: bool = True
    """Whether something failed for certain; else it only looks like it."""


def ended(lines: Sequence[Line], run: Run | None, course: Timeline, *, shown: bool = False) -> Ending | None:
    """Return how it ended where that was no good end; ``None`` where nothing says so, or the log comes to a good end.

    The exit code of a command that was run has the last word. With `shown` there is something that a check knows: it
    is what somebody asks about who says that a program failed.
    """
    # What NCCL tells of its setup is no end of anything: "cannot open shared object file" is how it says that there is
    # no plug-in.
    # Nor is what a launcher says of workers that it then started again with success.
    since = course.restart + 1 if course.restart < len(lines) - 1 else 0
    cut = lines[course.fragment] if course.fragment >= 0 else None
    last = [x for x in lines[since:] if _counts(x) and x is not cut][-LAST:]
    if last and (whole := cut_report(lines, last[-1])) is not None:
        last[-1] = whole
    while len(last) > 1 and ASKING.match(last[-1].text):
        last.pop()
    if run is not None and run.exit_code:
        said = f"{run.name} ended with exit code {run.exit_code} after {run.seconds:,.1f} s"
        if run.name == "timeout" and run.exit_code == TIMED_OUT:
            said = f"timeout ended the command: its limit was over, after {run.seconds:,.1f} s"
        if killed_by_somebody(run):
            said = how_killed(run)
        stopped = run.interrupted or run.exit_code == 128 + signal.SIGINT
        return None if stopped else Ending(with_signals(said), telling(lines))
    if course.only_help:
        return None
    if usage := _refused(lines):
        return Ending(f"the program said how it is used, and ended: {usage.text[:200]}", [usage])
    if (left := _left_in_the_middle(lines)) is not None:
        return left
    if course.well >= 0:
        return None
    if any(SHORTENED.match(line.text) for line in last):
        above = telling([line for line in lines if not SHORTENED.match(line.text)])
        return Ending(above[-1].text[:500], above)
    failed = (at for at, line in enumerate(last) if _failed(line))
    at = next((at for at in failed if not WARNED.search(last[at].text, 0, 400)), None)
    if at is not None and sum(map(_progress, last[at:])) < ENOUGH and not _got_over(last, at, course):
        line = last[at]
        certain = not course.wrote_last(line) or line.full.startswith(SLURMS) or _gave_up(line)
        certain = certain and NEGATIVE.search(line.text) is None
        certain = certain and not all(
            NOISE.search(x.text) for x in last
        )  # tools alone: nobody knows what for
        return Ending(line.text[:500], telling(lines), certain=certain)
    if (all_of_it := _of_all(last)) is not None:
        return Ending(all_of_it.text[:500], [all_of_it])
    if not course.got_somewhere and (stack := stack_alone(lines, last)) is not None:
        return Ending(f"a native stack, and not what was raised above it: {stack.text[:400]}", [stack])
    if not (course.got_somewhere or course.raised) and (row := source_alone(lines)) is not None:
        return Ending(f"a piece of a traceback: {row.text[:400]}", [row])
    if not course.raised and (row := failing_test(lines)) is not None:
        return Ending(f"a test failed: {row.text[:400]}", [row])
    if begun_traceback(lines):
        return Ending("the log ends in the middle of a traceback", telling(lines))
    if (again := _again_and_again(last)) is not None:
        return Ending(again.text[:500], [again], certain=not course.got_somewhere)
    end = last[-1] if last else None
    # A stack that a program prints of its own stands below what it reports.
    last = [line for line in last if not line.indent or line.bar] or last
    reported = bool(last) and _says(REPORTED, last[-1]) and not _only_warns(last[-1])
    if reported and not _harmless(last[-1]) and not _closing(last):
        certain = _gave_up(last[-1]) or not course.got_somewhere
        return Ending(last[-1].text[:500], last[-1:], certain=certain)
    if last and BARE.match(last[-1].text) and not course.got_somewhere:
        return Ending(last[-1].text[:500], last[-1:])
    if last and reports_failure(last[-1].full, last[-1].text) and not _harmless(last[-1]) and middle(lines):
        # It may be a live log, whose program goes on.
        return Ending(last[-1].text[:500], last[-1:], certain=False)
    if end is not None and NCCL_WARNS.search(end.full) and not _harmless(end):
        return Ending(end.text[:500], [end], certain=False)
    alone = run is None and len(lines) <= PASTE and not (shown or course.raised or course.got_somewhere)
    told = complaint(lines) if alone else None
    return None if told is None else Ending(told.text[:500], [told])


def _counts(line: Line) -> bool:
    """Return whether a line says something: no blank one, no mark of an issue's block, nothing of NCCL's setup."""
    return bool(line.text) and not line.text.startswith(FENCE) and SETUP.search(line.text) is None


def _left_in_the_middle(lines: Sequence[Line]) -> Ending | None:
    """Return the ending where a shell's prompt stands below a training that had not come to its end."""
    said = [line for line in lines if line.text]
    own = said
    while own and PROMPT.match(own[-1].text):
        own = own[:-1]
    at = middle(own) if own and len(own) < len(said) else ""
    if not at:
        return None
    return Ending(f"it ended in the middle, at {at}: the shell's prompt stands below", own[-1:])


def _again_and_again(last: Sequence[Line]) -> Line | None:
    """Return the last line where the last lines all report the same error, of another time or peer each."""
    rows = last[-ENOUGH:]
    same = len(rows) == ENOUGH and len(shapes(line.text for line in rows)) == 1
    return rows[-1] if same and MET.search(rows[-1].text, 0, 400) else None


def _refused(lines: Sequence[Line]) -> Line | None:
    """Return the line in which a program begins to say how it is used, where nothing else stands below it.

    argparse prints that where it refuses the command line, and says why in the line behind it, which is missing here.
    """
    said = [line for line in lines if WORDS.search(line.text)][-USAGE_MOST:]
    first = next((at for at, line in enumerate(said) if USAGE.match(line.text)), None)
    if first is None and len(said) < ENOUGH:
        return None
    if first is None:  # it may have been cut off
        return said[0] if all(OPTIONS.match(line.text) for line in said) else None
    rest = all(line.indent or USAGE.match(line.text) or OPTION.match(line.text) for line in said[first:])
    return said[first] if rest else None


def _of_all(last: Sequence[Line]) -> Line | None:
    """Return the line in which a program says last that all of it failed, or was called in a wrong way.

    What stands below may be advice, or how it is called.
    """
    for at in reversed(range(len(last))):
        line = last[at]
        if is_result(line.text, beyond_doubt=True) and not _says(REPORTED, line):
            return None
        if FAILED_AS_A_WHOLE.search(line.text, 0, 400) and not (_harmless(line) or _of_parts(line)):
            return line
        used = at + 1 < len(last) and USAGE.match(last[at + 1].text)
        if used and REPORTED.search(line.text, 0, 400) and not _harmless(line):
            return line
        if at < len(last) - 2 * ENOUGH:
            return None
    return None


def _got_over(last: Sequence[Line], at: int, course: Timeline) -> bool:
    """Return whether what failed was no matter.

    Results stand below it; or the training's good end above a tool's; or it was done beside the training, as an upload
    is, and the job came to its end.
    """
    if course.has_results_below(last[at]) or _over_and_on(last[at], last[at + 1 : at + 2], course):
        return True
    text = last[at].text[:400]
    # wandb says so of the training itself: "Waiting for W&B process to finish... (failed 1)"
    if course.got_somewhere and ASIDE.search(text) and not text.startswith("wandb"):
        return any(FINISHED.search(line.text, 0, 400) for line in last[at + 1 :])
    above = [line.text for line in last[max(0, at - 2) : at]]
    done = any(FINISHED.search(x) and not WRAPPER.search(x) and not sentence(x) for x in above)
    return done and TOOL.search(last[at].text) is not None


def _over_and_on(line: Line, below: Sequence[Line], course: Timeline) -> bool:
    """Return whether a program quotes what another one said that failed, and had done so before and gone on."""
    if not below or not below[0].indent or line.indent:
        return False
    kind = shapes([line.text])
    places = [
        p for p, x in enumerate(course.lines) if x.name == line.name and not kind.isdisjoint(shapes([x.text]))
    ]
    between = course.results[line.name, line.who] if len(places) > 1 else []
    return any(places[0] < place < places[-1] for place in between)


def _gave_up(line: Line) -> bool:
    return GAVE_UP.search(line.text, 0, 400) is not None


def _failed(line: Line) -> bool:
    """Return whether a line says that a command failed, and none that a part of it did, or that a library met it."""
    met = TOOL.search(line.text) is not None and LIBRARY.search(line.full, 0, 400) is not None
    ends_nothing = _of_parts(line) or met or _only_warns(line) or ASKED.match(line.text)
    return _says(STATUS, line) and not ends_nothing


def _only_warns(line: Line) -> bool:
    """Return whether a logger, or NCCL, says in front of a line that it is a warning."""
    front = line.full[: len(line.full) - len(line.text)]
    return ONLY_WARNED.search(front) is not None or NCCLS.search(line.full, 0, 400) is not None


def _of_parts(line: Line) -> bool:
    """Return whether a program says that it did without a part that failed, or how many of its parts did."""
    return SETTLED.search(line.text, 0, 400) is not None or PARTS.search(line.text, 0, 400) is not None


def _harmless(line: Line) -> bool:
    return HARMLESS.search(line.text) is not None or SETTLED.search(line.text) is not None


def _closing(last: Sequence[Line]) -> bool:
    """Return whether the last line reports a failed clean-up right below a result; other ranks may say the same."""
    above = next((line.text for line in reversed(last[:-1]) if line.text != last[-1].text), "")
    done = is_result(above, beyond_doubt=True) and not tells_of_failure(above)
    return done and CLOSING.search(last[-1].text, 0, 400) is not None


def _says(words: re.Pattern[str], line: Line) -> bool:
    """Return whether a line says it, with its prefixes or without them."""
    return any(words.search(text, 0, 400) for text in (line.text, line.full))


def _progress(line: Line) -> bool:
    return PROGRESS.search(line.text, 0, 400) is not None


def telling(lines: Sequence[Line], most: int = 3) -> list[Line]:
    """Return the lines at the end of a log that say most of a failure; its very last ones where none says anything."""
    last = [line for line in lines if line.text and not line.bar][-5 * LAST :]
    said = [line for line in last if TELLING.search(line.text, 0, 400)]
    if said:
        return [line for line in said if not SETUP.search(line.text)][-most:] or said[-most:]
    # What a program says once says more than its loop: Python prints the words of sys.exit above what it kept back.
    return [x for x in last if not _progress(x) or _says(STATUS, x)][-most:] or last[-most:]
