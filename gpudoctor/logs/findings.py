"""What a log was judged to show, as findings: the cause with its fixes, then a line for each consequence."""

import re
import shlex
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from gpudoctor.guard import made
from gpudoctor.launch_command import TORCHRUN, fitted, without_slurm
from gpudoctor.logs.ending import Ending, telling
from gpudoctor.logs.exception_names import USAGE_ERROR
from gpudoctor.logs.fault_handler import spoke
from gpudoctor.logs.judgement import Event, Judgement, rank_of
from gpudoctor.logs.last_words import WORDS, pointed, with_last_words
from gpudoctor.logs.launcher import launched, under_slurm
from gpudoctor.logs.lines import Line
from gpudoctor.logs.raised import Frame, Raised
from gpudoctor.logs.symptoms import Load
from gpudoctor.logs.waiting import apart, stands
from gpudoctor.model import UNRECOGNISED, Check, Evidence, Finding, Fix, Location, Role, Severity, Source
from gpudoctor.patterns import late_pattern
from gpudoctor.report import CheckStatus, Result
from gpudoctor.text import ranks

HANDLER = "PYTHONFAULTHANDLER=1 "
"""With a command behind it: what only switches the handler on. Beside other variables it is not all that a fix does."""
SCRIPT = late_pattern(r"can't open file '(?P<path>[^'\n]{1,300})': \[Errno 2\]")
PROGRAM = late_pattern(r"(?P<path>[\w./-]{1,200}\.py): error: ")
HELD = 15
"""Characters of a message that no other message holds by chance, as it may hold a key."""
QUOTED = 3
"""Lines that are quoted as evidence of one failure, each of another rank."""


class Findings(NamedTuple):
    """What a log was judged to show, and which checks crashed when that was put into words."""

    found: list[Finding]
    failed: list[Result]


def findings(
    judgement: Judgement, ending: Ending | None, lines: Sequence[Line], load: Load, source: Source
) -> Findings:
    """Make the findings: the cause, the warnings and notes, then in a line each what followed.

    `ending` is how it ended, where no cause is known; `lines` are those of the log.
    """
    found = []
    if judgement.cause is not None:
        cause = replace(_finding(judgement.cause), severity=Severity.ERROR)
        if judgement.cause.elsewhere:
            cause = pointed(cause, judgement, lines)
        elif judgement.cause.check.elsewhere:
            cause = with_last_words(cause, judgement, lines)
        else:
            cause = _where_they_stood(cause, judgement.cause, judgement.course.raised)
        found.append(_own_line(cause, judgement.own))
    unknown, failed = _unknown(judgement, ending, lines, load)
    found += unknown
    if judgement.doubt:
        found = [_doubtful(finding, judgement.doubt) for finding in found]
    remarks = [_remark(event) for event in judgement.remarks]
    found += sorted(remarks, key=lambda finding: finding.severity.rank)
    found += [_consequence(event) for event in judgement.consequences]
    if not found:
        return Findings([], failed)
    started = launched(lines)
    if started.launcher is None and all(line.rank is None for line in lines):
        found = [_of_one_process(finding) for finding in found]
    if not under_slurm(lines):
        found = [replace(finding, fixes=without_slurm(finding.fixes)) for finding in found]
    if spoke(lines):
        found = [_without_fault_handler(finding) for finding in found]
    found = [replace(f, source=source, fixes=fitted(f.fixes, started)) for f in found]
    return Findings(found, failed)


def _where_they_stood(finding: Finding, event: Event, raised: Sequence[Raised]) -> Finding:
    """Say of a failure that several ranks report where they were in different calls."""
    places = {seen.place for seen in event.seen}
    stood = apart(stands(one for one in raised if one.place in places)) if len(event.ranks) > 1 else ""
    return (
        replace(finding, message=f"{finding.message}; {stood[0].lower()}{stood[1:-1]}") if stood else finding
    )


def _unknown(judgement: Judgement, ending: Ending | None, lines: Sequence[Line], load: Load) -> Findings:
    """Report what no check knows: an exception, and how the log ends."""
    check = load(UNRECOGNISED) if judgement.raised is not None or ending is not None else None
    if check is None:
        return Findings([], [])
    result, found = made(check, Source.LOG, partial(_of_no_check, check, judgement, ending, lines))
    return Findings(found, [result] if result.status is CheckStatus.CRASHED else [])


def _of_no_check(
    check: Check, judgement: Judgement, ending: Ending | None, lines: Sequence[Line]
) -> Iterator[Finding]:
    raised = judgement.raised
    if raised is not None:
        # What only passes on that another process failed stands below what that one said itself.
        above = telling(lines[: raised.first], 2) if raised.wrapper else []
        outer = _explained(raised, judgement)
        more = [*above, *([outer.line] if outer is not None else [])]
        said = _told(raised, lines)
        if outer is not None:
            said = f"{_told(outer, lines)}, from {said}"
        yield _unrecognised(raised, said, judgement.own, more, check)
    if ending is not None:
        yield _ended(ending, check)


def _told(raised: Raised, lines: Sequence[Line]) -> str:
    """Return what an exception says; its message may begin in a line below its name."""
    rows = (line.text for line in lines[raised.place + 1 : raised.last + 1] if line.who == raised.line.who)
    message = raised.message or next((text for text in rows if WORDS.search(text)), "")
    return f"{raised.type}: {message}" if message else raised.type


def _explained(raised: Raised, judgement: Judgement) -> Raised | None:
    """Return the exception that was raised from another one, to say what that means; ``None`` where none was.

    One that repeats it, or only passes it on, explains nothing.
    """
    outer = judgement.course.raised_from(raised)
    if outer is None or outer.wrapper or outer.late or not outer.message:
        return None
    again = (outer.type, outer.message) == (raised.type, raised.message)
    held = len(raised.message) >= HELD and raised.message[:60] in outer.message
    return None if again or held else outer


def _of_one_process(finding: Finding) -> Finding:
    """Leave out of an unknown failure what would tell ranks apart, where nothing shows that there were several."""
    if finding.id != UNRECOGNISED:
        return finding
    return replace(finding, fixes=[fix for fix in finding.fixes if not TORCHRUN.search(fix.command)])


def _without_fault_handler(finding: Finding) -> Finding:
    """Leave out the fix that would switch on Python's fault handler, where its stack is in the log already."""
    return replace(finding, fixes=[fix for fix in finding.fixes if HANDLER not in fix.command])


def _fixes(check: Check, raised: Raised | None) -> list[Fix]:
    """Return the fixes of an unknown failure: no traceback is read where none is, no rank asked that never ran."""
    if raised is not None and raised.frames:
        return list(check.fixes)
    early = raised is not None and raised.type == USAGE_ERROR
    fixes = [fix for fix in check.fixes if fix.command and not (early and TORCHRUN.search(fix.command))]
    return [*(_of_usage(raised.message) if raised is not None and early else []), *fixes]


def _of_usage(message: str) -> list[Fix]:
    """Return what to look at where a script could not be started, or did not take its options."""
    if script := SCRIPT.search(message):
        path = script["path"]
        folder = shlex.quote(path.rpartition("/")[0] or "/" if "/" in path else ".")
        return [
            Fix(
                f"See what lies there; a path without / in front counts from where it is started: {path}",
                f"ls -l {folder}",
            )
        ]
    if program := PROGRAM.match(message):
        return [Fix("See the options that it takes", f"python {program['path']} --help")]
    return []


def _doubtful(finding: Finding, doubt: str) -> Finding:
    """Say of a cause why it may not have ended the training."""
    return replace(finding, severity=Severity.WARNING, behind=f"{finding.behind} {doubt}".strip())


def _finding(event: Event) -> Finding:
    finding = event.seen[0].finding
    return replace(
        finding,
        message=_with_ranks(finding.message, event.ranks),
        evidence=_evidence(event),
        ranks=event.ranks,
        behind=_behind(event),
    )


def _behind(event: Event) -> str:
    """Return what is known of the cause of what is mostly a consequence itself."""
    if event.elsewhere:
        return "Another rank failed or stalled first, and its output is not here."
    return "What lies behind it does not show here." if event.check.secondary else ""


def _own_line(finding: Finding, own: Frame | None) -> Finding:
    """Add the line of the user's own code that the traceback names."""
    if own is None:
        return finding
    evidence = [*finding.evidence, Evidence(_call(own))]
    return replace(finding, evidence=evidence, location=finding.location or Location(own.path, own.line))


def _call(frame: Frame) -> str:
    place = f'File "{frame.path}", line {frame.line}' + (f", in {frame.function}" if frame.function else "")
    return f"{place}: {frame.text}" if frame.text else place


def _remark(event: Event) -> Finding:
    finding = _finding(event)
    if event.survived and finding.severity is Severity.ERROR:
        return replace(
            finding,
            severity=Severity.NOTE,
            message=finding.message + "; training went on after it",
            handled=True,
        )
    return finding


def _consequence(event: Event) -> Finding:
    finding = _finding(event)
    return replace(
        finding, role=Role.CONSEQUENCE, severity=Severity.NOTE, evidence=finding.evidence[:1], fixes=[]
    )


def _evidence(event: Event) -> list[Evidence]:
    """Quote the first line of each rank, up to a few."""
    quoted: dict[int | None, Evidence] = {}
    for seen in event.seen:
        rank = rank_of(seen)
        quoted.setdefault(rank, Evidence(seen.line.text[:500], seen.line.where, rank))
    return list(quoted.values())[:QUOTED]


def _with_ranks(message: str, numbers: Sequence[int]) -> str:
    """Add the ranks that a failure was seen on, unless the message names them already."""
    named = ranks(numbers)
    return message if not named or re.search(rf"\b{named}\b", message) else f"{message} (reported by {named})"


def _ended(ending: Ending, check: Check) -> Finding:
    """Report what failed without a word that a check knows, with the most telling of the last lines."""
    return check.found(
        ending.said,
        severity=Severity.ERROR if ending.certain else Severity.WARNING,
        fixes=_fixes(check, None),
        evidence=[Evidence(line.text[:500], line.where, line.rank) for line in ending.lines],
    )


def _unrecognised(
    raised: Raised, said: str, own: Frame | None, more: Sequence[Line], check: Check
) -> Finding:
    """Report an exception that no check knows: what it says, who raised it, and where in the user's own code."""
    place = (
        f", raised below {own.path} line {own.line}" + (f" in {own.function}" if own.function else "")
        if own
        else ""
    )
    rank = raised.line.rank
    evidence = [Evidence(raised.line.text[:500], raised.line.where, rank)]
    if own:
        evidence.append(Evidence(_call(own), rank=rank))
    evidence += [Evidence(line.text[:500], line.where, line.rank) for line in more]
    numbers = [rank] if rank is not None else []
    found = check.found(
        _with_ranks(said[:500] + place, numbers),
        evidence=evidence,
        fixes=_fixes(check, raised),
        location=Location(own.path, own.line) if own else None,
    )
    return replace(found, ranks=numbers)
