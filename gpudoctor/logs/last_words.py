"""Whose output to look at where a log tells only that a rank ended, and what was printed last above that."""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from gpudoctor.logs.ending import Ending, telling
from gpudoctor.logs.foreign_lines import CODE, ENDS_OTHERS
from gpudoctor.logs.handling import INFORMED
from gpudoctor.logs.judgement import Judgement
from gpudoctor.logs.line_kinds import MEASURE, NOISE, PROGRESS, SETTLED, reports_failure
from gpudoctor.logs.lines import Line
from gpudoctor.logs.pasted import ASKING, in_first_person
from gpudoctor.logs.restarts import LAUNCH
from gpudoctor.logs.values import HARMLESS
from gpudoctor.logs.waiting import apart, silent, stands
from gpudoctor.logs.wrapping import cut_pieces
from gpudoctor.model import Evidence, Finding, Fix
from gpudoctor.patterns import late_pattern
from gpudoctor.text import ranks

SAID = 5
"""Lines of programs above a launcher's first word of a failure, among which the one is that says most of it."""
ALONE = late_pattern(r"<NO_OTHER_FAILURES>")
"""What torchrun's summary holds where one rank alone failed (torch/distributed/elastic/multiprocessing/errors)."""
LAST_WORDS = "the last that was printed above the launcher's words is quoted, and may say why"
HERE = late_pattern(r"(?:127\.|::1$|localhost$)")
"""An address that only processes of the same machine have."""
WORDS = late_pattern(r"[^\W\d_]{3}")
CONNECTED = late_pattern(r"\bNCCL INFO\b|^\[(?:Gloo|c10d)\]")
"""What NCCL, gloo and torch's store print as ranks connect."""
REASON = late_pattern(
    r"\b(?:cannot|can ?not|can't|could not|couldn't|must|needs?|requires?|required(?! for\b)|invalid|unknown|"
    r"unsupported|not (?:found|supported|allowed|available|given|divisible|enough|the same)|"
    r"(?:has|have|is|are|does|do) not|no such|unless|fatal|stale|"
    r"too (?:many|few|large|big|small|long|short|old|new|little|much)|overlaps?|duplicates?|"
    r"exceed(?:s|ed)?|mismatch\w*|refus(?:es|ed|ing)|expect(?:s|ed) .{0,40}\b(?:got|not|found|but)|"
    r"(?:has|have|found|got|with) 0|fail(?:s|ed|ure)?)\b|\berrors?: |\w(?:Error|Exception)\b",
    re.IGNORECASE,
)
"""What a program says of why it leaves, as with `sys.exit("...")`; what only reports of its work holds none of it."""
NO_REASON = (MEASURE, SETTLED, HARMLESS, CONNECTED)
"""What a line that was printed before it holds, when the program only went about its work."""
SIGNALLED = 126
"""Exit codes from here on are a shell's own, or tell of a signal."""


def pointed(finding: Finding, judgement: Judgement, lines: Sequence[Line]) -> Finding:
    """Say, of a failure that only follows from another, whose output to look at and how to keep it.

    A rank that reports is not the one to blame; a launcher names the one that ended.
    """
    events = [e for e in [judgement.cause, *judgement.consequences] if e is not None]
    named = [seen.sighting.groups for e in events if e.check.secondary for seen in e.seen]
    # A launcher names the rank that only reports that another one is gone, too.
    told = {raised.line.rank for raised in judgement.course.raised}
    ended = [g for g in named if g.keys() & {"code", "signal"} and g.get("rank", "").isdigit()]
    first = next((g for g in ended if int(g["rank"]) not in told), {})
    if first:
        who = f"rank {first['rank']}" + (f" on {first['host']}" if "host" in first else "")
    else:
        who = ranks(silent(lines, {rank for event in events for rank in event.ranks})) or "another rank"
    of_launcher = judgement.cause is not None and "code" in judgement.cause.seen[0].sighting.groups
    said = telling(_said_above(judgement, lines), 1) if of_launcher else []
    look = f"look at the output of {who}, which failed or stalled first and is not shown here"
    peers = [seen.sighting.groups.get("peer", "") for event in events for seen in event.seen]
    here = any(map(HERE.match, peers))
    if not first and here and any(ALONE.match(line.text) for line in lines):
        look = (
            "torchrun names no other failure: the other rank had ended by itself and without an error, with "
            "fewer batches or by an early exit"
        )
    if said:
        look = LAST_WORDS
    keep = Fix(
        "Keep the output of every rank", "torchrun --log-dir=logs --tee=3 --nproc-per-node=gpu train.py"
    )
    kept = any("--tee" in fix.command for fix in finding.fixes)
    stood = apart(stands(judgement.course.raised))
    return replace(
        finding,
        message=f"{finding.message}; {look}",
        evidence=[*finding.evidence, *(Evidence(x.text[:500], x.where, x.rank) for x in said)],
        fixes=finding.fixes if kept else [*finding.fixes, keep],
        behind=stood or ("" if said else finding.behind),
    )


def with_last_words(finding: Finding, judgement: Judgement, lines: Sequence[Line]) -> Finding:
    """Quote what was printed last above a launcher's word of a process that left with an exit code of its own."""
    own = judgement.cause is not None and "code" in judgement.cause.seen[0].sighting.groups
    said = (
        [line for line in telling(_said_above(judgement, lines), 1) if reports_failure(line.full, line.text)]
        if own
        else []
    )
    more = [Evidence(line.text[:500], line.where, line.rank) for line in said]
    return replace(
        finding,
        message=f"{finding.message}; {LAST_WORDS}" if said else finding.message,
        evidence=[*finding.evidence, *more],
    )


def said_why(judgement: Judgement, lines: Sequence[Line]) -> Ending | None:
    """Return why a worker left, in its own last words, where a launcher knows no more than its exit code."""
    cause = judgement.cause
    code = cause.seen[0].sighting.groups.get("code", "") if cause is not None else ""
    if (
        cause is None
        or cause.check.family != "launch"
        or judgement.doubt
        or not (code.isdigit() and 0 < int(code) < SIGNALLED)
    ):
        return None
    above = _said_above(judgement, lines)
    said = next(iter(telling(above, 1)), None)
    if said is None or INFORMED.search(said.full) or any(w.search(said.full, 0, 600) for w in NO_REASON):
        return None
    # What stands below it may be of another rank, which was still at work.
    below = above[above.index(said) + 1 :]
    working = all(PROGRESS.search(x.text, 0, 400) or MEASURE.search(x.text, 0, 400) for x in below)
    reason = REASON.search(said.text, 0, 400) or reports_failure(said.full, said.text)
    if PROGRESS.match(said.text) or not (working and reason):
        return None
    end = f"printed last, above the launcher's word of a worker that left with exit code {code}"
    return Ending(f"{said.text[:400]}; {end}", [said, cause.seen[0].line])


def _said_above(judgement: Judgement, lines: Sequence[Line]) -> list[Line]:
    """Return what programs said last above the first word of a launcher of a process that left without an exception.

    `sys.exit("...")` prints its text alone, and a logger its line; which process it was the lines do not tell.
    """
    events = [event for event in [judgement.cause, *judgement.consequences] if event is not None]
    reports = [
        seen.place for event in events if "code" in event.seen[0].sighting.groups for seen in event.seen
    ]
    pieces = cut_pieces(lines)
    own = [
        line
        for place, line in enumerate(lines[: min(reports, default=0)])
        if WORDS.search(line.text)
        and place not in pieces
        and not CODE.search(line.text, 0, 400)
        and not NOISE.search(line.full)
        and not LAUNCH.search(line.full)
        and not ENDS_OTHERS.search(line.text, 0, 400)
        and not ASKING.match(line.text[:400])
        and not in_first_person(line.text)
        and not judgement.course.around(line, place)
    ]
    return own[-SAID:]
