"""Explain a log: from its text to a report with the one cause."""

import functools
from collections.abc import Iterable, Sequence
from pathlib import Path

from msgspec.structs import replace

from gpudoctor.logs.index import finder
from gpudoctor.logs.judge import Event, Judgement, judge, rank_of
from gpudoctor.logs.lines import Line, read_lines, read_text
from gpudoctor.logs.literals import Finder
from gpudoctor.logs.sources import Opened
from gpudoctor.logs.symptoms import Load, seen_in
from gpudoctor.logs.tracebacks import Raised, exceptions, quoted_source
from gpudoctor.logs.wording import fixes, message
from gpudoctor.model import (
    Check,
    Evidence,
    Finding,
    Fix,
    Location,
    Report,
    Role,
    Severity,
    Source,
    Status,
    Verdict,
)
from gpudoctor.registry import Registry

UNRECOGNISED = "unrecognised-error"
RETYPED = 40
"""Lines: what somebody retyped, with other capitals than the program's, is no longer."""
QUOTED = 3
"""Lines that are quoted as evidence of one failure, each of another rank."""


@functools.cache
def _registry(folders: tuple[Path, ...]) -> tuple[Registry, Finder]:
    registry = Registry(folders)
    return registry, finder(registry)


def explain(text: str, *, name: str = "log", checks: Iterable[Path] = ()) -> Report:
    """Explain what a training printed: the one cause, what followed from it, and the fixes.

    `text` may hold the output of several ranks, colours, time stamps and what an issue tracker made of them; `name` is
    used for quoting (``log:120``). `checks` are folders of local check files. Nothing is run, and torch is not needed.

        >>> report = gpudoctor.explain(Path("train.log").read_text())
        >>> report.verdict.primary, [finding.message for finding in report.findings]
    """
    registry, find = _registry(tuple(checks))
    lines = read_text(text, name)
    return explain_lines(lines, find, loader(registry))


def loader(registry: Registry) -> Load:
    """Return the function that gives the check of an id; one that cannot be loaded is a line of `registry.trouble`."""

    @functools.cache
    def load(id: str) -> Check | None:
        return next(iter(registry.checks([id])), None)

    return load


def read_log(opened: Iterable[Opened]) -> tuple[list[Line], int]:
    """Return the lines of all logs that were opened, and how many lines they have altogether."""
    lines: list[Line] = []
    total = 0
    for log in opened:
        lines += read_lines(log.kept.lines, log.name, log.rank, log.seconds)
        total += log.kept.total
    return lines, total


def explain_lines(
    lines: Sequence[Line], find: Finder, load: Load, *, total: int | None = None, source: Source = Source.LOG
) -> Report:
    """Return the report on a log's lines; `total` is how many the whole log has, where these are not all of them."""
    source_lines = quoted_source(lines)
    seen = seen_in(lines, find, load, source_lines)
    raised = exceptions(lines, source_lines)
    if not seen and not raised and len(lines) <= RETYPED:
        seen = seen_in(lines, find, load, source_lines, any_case=True)
    judgement = judge(lines, seen, raised)
    report = Report(command="explain", findings=findings(judgement, load, source))
    report.verdict = verdict(judgement, report.findings, len(lines) if total is None else total)
    return report


def findings(judgement: Judgement, load: Load, source: Source = Source.LOG) -> list[Finding]:
    """Make the findings: the cause, the warnings and notes, then in a line each what followed."""
    found = []
    if judgement.cause is not None:
        cause = _finding(judgement.cause, source)
        found.append(_pointed(cause, judgement) if judgement.cause.check.elsewhere else cause)
    unrecognised = load(UNRECOGNISED) if judgement.raised is not None else None
    if judgement.raised is not None and unrecognised is not None:
        found.append(_unrecognised(judgement.raised, unrecognised, source))
    remarks = [_remark(event, source) for event in judgement.remarks]
    found += sorted(remarks, key=lambda finding: finding.severity.rank)
    return found + [_consequence(event, source) for event in judgement.consequences]


def _finding(event: Event, source: Source) -> Finding:
    first, check = event.seen[0], event.check
    made = first.finding or check.found(
        message(check, first.sighting.groups, first.line.text), fixes=fixes(check, first.sighting.groups)
    )
    return replace(made, source=source, message=made.message + _on(event.ranks), evidence=_evidence(event))


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
            finding, severity=Severity.WARNING, message=finding.message + "; training went on after it"
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


def _on(ranks: Sequence[int]) -> str:
    """Name ranks as a reader would: `` (ranks 0-6, 9)``."""
    if not ranks:
        return ""
    spans: list[list[int]] = []
    for rank in ranks:
        if spans and rank == spans[-1][1] + 1:
            spans[-1][1] = rank
        else:
            spans.append([rank, rank])
    text = ", ".join(str(a) if a == b else f"{a}-{b}" if b > a + 1 else f"{a}, {b}" for a, b in spans[:8])
    return f" (rank{'s' if len(ranks) > 1 else ''} {text}{', …' if len(spans) > 8 else ''})"


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
    return check.found(
        said[:500] + place + _on([rank] if rank is not None else []),
        source=source,
        evidence=evidence,
        location=Location(own.path, own.line) if own else None,
    )


def verdict(judgement: Judgement, found: Sequence[Finding], lines: int) -> Verdict:
    """Say in one sentence what a log comes to."""
    if judgement.raised is not None:
        sentence = f"A failure that gpudoctor does not know: {found[0].message}."
        return Verdict(status=Status.BROKEN, primary=UNRECOGNISED, sentence=sentence)
    cause = judgement.cause
    if cause is None:
        worst = found[0] if found else None
        if worst is None or worst.severity is Severity.NOTE:
            return Verdict(
                status=Status.HEALTHY,
                sentence=f"No failure shows in {lines} line{'' if lines == 1 else 's'}.",
            )
        sentence = f"Nothing failed in what this log shows; worth a look: {worst.id}."
        return Verdict(status=Status.SUSPECT, primary=worst.id, sentence=sentence)
    where = f"{_on(cause.ranks)}, {cause.seen[0].line.where}"
    if cause.check.elsewhere:
        said = f"Only what followed shows here: {cause.check.id}{where}."
        sentence = f"{said} Another rank failed or stalled first, and its output is not here."
        return Verdict(status=Status.BROKEN, primary=cause.check.id, sentence=sentence)
    more = " What lies behind it does not show here." if cause.check.secondary else ""
    sentence = f"Most likely cause: {cause.check.id}{where}.{more}"
    return Verdict(status=Status.BROKEN, primary=cause.check.id, sentence=sentence)
