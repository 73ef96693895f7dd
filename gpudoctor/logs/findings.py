"""What a log was judged to show, as findings: the cause with its fixes, then a line for each consequence."""

from collections.abc import Sequence

from msgspec.structs import replace

from gpudoctor.logs.cause import Event, Judgement, rank_of
from gpudoctor.logs.placeholders import filled_fixes, filled_message
from gpudoctor.logs.symptoms import Load
from gpudoctor.logs.tracebacks import Raised
from gpudoctor.model import UNRECOGNISED, Check, Evidence, Finding, Fix, Location, Role, Severity, Source
from gpudoctor.text import ranks

QUOTED = 3
"""Lines that are quoted as evidence of one failure, each of another rank."""


def findings(judgement: Judgement, load: Load, source: Source = Source.LOG) -> list[Finding]:
    """Make the findings: the cause, the warnings and notes, then in a line each what followed."""
    found = []
    if judgement.cause is not None:
        cause = _finding(judgement.cause, source)
        pointed = judgement.cause.check.elsewhere and not judgement.cause.tells_end
        found.append(_pointed(cause, judgement) if pointed else cause)
    unrecognised = load(UNRECOGNISED) if judgement.raised is not None else None
    if judgement.raised is not None and unrecognised is not None:
        found.append(_unrecognised(judgement.raised, unrecognised, source))
    remarks = [_remark(event, source) for event in judgement.remarks]
    found += sorted(remarks, key=lambda finding: finding.severity.rank)
    return found + [_consequence(event, source) for event in judgement.consequences]


def _finding(event: Event, source: Source) -> Finding:
    first, check = event.seen[0], event.check
    made = first.finding or check.found(
        filled_message(check, first.sighting.groups, first.line.text),
        fixes=filled_fixes(check, first.sighting.groups),
    )
    return replace(
        made,
        source=source,
        message=made.message + _on(event.ranks),
        evidence=_evidence(event),
        ranks=event.ranks,
        behind=_behind(event),
    )


def _behind(event: Event) -> str:
    """Return what is known of the cause of what is mostly a consequence itself."""
    if event.check.elsewhere and not event.tells_end:
        return "Another rank failed or stalled first, and its output is not here."
    return "What lies behind it does not show here." if event.check.secondary else ""


def _pointed(finding: Finding, judgement: Judgement) -> Finding:
    """Say, of a failure that only follows from another, whose output to look at and how to keep it."""
    named = [
        e.seen[0].sighting.groups
        for e in [judgement.cause, *judgement.consequences]
        if e and e.check.secondary
    ]
    first = next((groups for groups in named if groups.get("rank", "").isdigit()), {})
    who = (
        f"rank {first['rank']}" + (f" on {first['host']}" if "host" in first else "")
        if first
        else "another rank"
    )
    message = (
        f"{finding.message}; look at the output of {who}, which failed or stalled first and is not shown here"
    )
    keep = Fix(
        "Keep the output of every rank", "torchrun --log-dir=logs --tee=3 --nproc-per-node=gpu train.py"
    )
    kept = any("--tee" in fix.command for fix in finding.fixes)
    return replace(finding, message=message, fixes=finding.fixes if kept else [*finding.fixes, keep])


def _remark(event: Event, source: Source) -> Finding:
    finding = _finding(event, source)
    if event.survived and finding.severity is Severity.ERROR:
        return replace(
            finding,
            severity=Severity.NOTE,
            message=finding.message + "; training went on after it",
            handled=True,
        )
    return finding


def _consequence(event: Event, source: Source) -> Finding:
    finding = _finding(event, source)
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


def _on(numbers: Sequence[int]) -> str:
    return f" ({ranks(numbers)})" if numbers else ""


def _unrecognised(raised: Raised, check: Check, source: Source) -> Finding:
    """Report an exception that no check knows: what it says, who raised it, and where in the user's own code."""
    own = raised.own
    said = f"{raised.type}: {raised.message}" if raised.message else raised.type
    place = (
        f", raised below {own.path} line {own.line}" + (f" in {own.function}" if own.function else "")
        if own
        else ""
    )
    rank = raised.line.rank
    evidence = [Evidence(raised.line.text[:500], raised.line.where, rank)]
    if own:
        evidence.append(
            Evidence(
                f'File "{own.path}", line {own.line}' + (f", in {own.function}" if own.function else ""),
                rank=rank,
            )
        )
    numbers = [rank] if rank is not None else []
    found = check.found(
        said[:500] + place + _on(numbers),
        evidence=evidence,
        location=Location(own.path, own.line) if own else None,
    )
    return replace(found, source=source, ranks=numbers)
