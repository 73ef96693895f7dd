"""What a log, a script and facts say of each other: where they show one failure, they are one finding.

The rules stand in docs/design.md, "How evidence is set side by side".
"""

import os
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.facts import Log, SourceLine
from gpudoctor.launch_command import TORCHRUN
from gpudoctor.model import (
    UNRECOGNISED,
    Evidence,
    Finding,
    Fix,
    Kind,
    Role,
    Severity,
    Source,
    layer,
)

Follows = Callable[[str], Iterable[str]]
"""The ids that a check says it follows from, by its id."""
FACTS = (Source.ENVIRONMENT, Source.CHECKPOINT)


class Mixed(Struct):
    """Findings of several kinds of evidence."""

    log: list[Finding]
    """What a log shows, joined with the facts that have the same id."""
    script: list[Finding]
    facts: list[Finding]

    def findings(self) -> list[Finding]:
        """Return all of them."""
        return [*self.log, *self.script, *self.facts]


def correlate(
    findings: Iterable[Finding],
    scripts: Sequence[Finding],
    follows: Follows,
    log: Log | None = None,
    names: frozenset[str] | None = None,
) -> Mixed:
    """Set findings of a log and of facts beside those of scripts: each failure stands once.

    `log` is what is known of the log, `names` are the scripts' file names where all are known.
    """
    every = list(findings)
    mixed = Mixed(
        log=[f for f in every if f.source not in FACTS],
        script=list(scripts),
        facts=[f for f in every if f.source in FACTS],
    )
    cause = next((f for f in mixed.log if f.role is Role.CAUSE and f.severity is not Severity.NOTE), None)
    if log is not None and cause is not None:
        _explain(mixed, cause, follows, log, foreign=_foreign(log, names))
    _same(mixed)
    if log is not None and not any(f.severity is Severity.ERROR for f in mixed.log):
        mixed.script = [_beside_no_failure(finding, log) for finding in mixed.script]
    return mixed


def _foreign(log: Log, names: frozenset[str] | None) -> bool:
    """Return whether a log names files of the user's, and none of those that were given: another program's log."""
    own = {_base(line.path) for line in log.own}
    return bool(own) and names is not None and bool(names) and not own & names


def _explain(mixed: Mixed, seen: Finding, follows: Follows, log: Log, *, foreign: bool) -> None:
    """Put in the place of a log's cause what the script or the facts show it to follow from, or to be.

    A fault in a checkpoint goes with the file, from the script that writes it to a program that is `foreign` to it.
    """
    scripts = [f for f in mixed.script if not foreign or f.family == "checkpoint"]
    same = [f for f in scripts if f.id == seen.id]
    causes = set(follows(seen.id))
    after = [f for f in scripts if f.id in causes and f.severity is not Severity.NOTE]
    after += [f for f in mixed.facts if f.id in causes and f.severity is Severity.ERROR]
    after = [f for f in after if f.role is Role.CAUSE]
    better = _first(same, log) or _first(after, log) or _first(_foretold(seen, scripts, log), log)
    place = mixed.log.index(seen)
    if better is None:
        mixed.log[place] = _on_its_line(seen, mixed.script, log)
        return
    for group in (mixed.script, mixed.facts):
        group[:] = [f for f in group if f is not better]
    mixed.log[place] = _joined(better, seen)


def _first(candidates: Sequence[Finding], log: Log) -> Finding | None:
    """Return the likeliest: one on a line that the log's traceback names, the worst, of the lowest layer."""
    return min(
        candidates,
        key=lambda f: (not any(_stands(f, line) for line in log.own), f.severity.rank, layer(f.family)),
        default=None,
    )


def _foretold(seen: Finding, scripts: Sequence[Finding], log: Log) -> list[Finding]:
    """Return the errors of the script on the line that raised what no check knows, if they raise that exception."""
    raised = seen.message.partition(":")[0]
    # the name of a function that is not bound yet; UnboundLocalError is a NameError
    names = (raised, "NameError") if raised == "UnboundLocalError" else (raised,)
    if seen.id != UNRECOGNISED or not raised.isidentifier():
        return []
    lines = [line for line in log.own if seen.location and line.line == seen.location.line]
    errors = [f for f in scripts if f.severity is Severity.ERROR and f.raises in names]
    return [f for f in errors if any(_stands(f, line) for line in lines)]


def _joined(cause: Finding, seen: Finding) -> Finding:
    """Return a cause with what the log shows of it as its second piece of evidence.

    Where the script only may fail so, the log's words, of what happened, come first.
    """
    perhaps = cause.id == seen.id and cause.severity is not Severity.ERROR
    fixes = _of_both(cause.fixes, seen.fixes) if cause.id == seen.id else cause.fixes
    if perhaps:
        own = {fix.summary for fix in seen.fixes}
        fixes = sorted(fixes, key=lambda fix: (fix.kind is Kind.MITIGATION, fix.summary not in own))
    if seen.id in (cause.id, UNRECOGNISED):
        said = f"; the log shows it: {seen.message}"
    else:
        # What only says that another rank failed has nothing to add.
        said = f"; in the log it shows as {seen.id}" + ("" if seen.behind else f": {seen.message}")
    sure = seen.severity is Severity.ERROR
    return replace(
        cause,
        severity=seen.severity,
        source=seen.source,
        message=f"{seen.message}; in the script: {cause.message}" if perhaps else cause.message + said,
        evidence=[*cause.evidence, *seen.evidence],
        location=cause.location or seen.location,
        fixes=fixes,
        ranks=seen.ranks,
        behind="" if sure else seen.behind,
        also=[] if seen.id in (cause.id, UNRECOGNISED) else [seen.id],
    )


def _on_its_line(seen: Finding, scripts: Sequence[Finding], log: Log) -> Finding:
    """Add to a log's cause what is known of the line of the script at which it was raised."""
    at = seen.location
    lines = [line for line in log.own if at is not None and (line.path, line.line) == (at.path, at.line)]
    known = [f for f in scripts if any(_stands(f, line) for line in lines)]
    more = [
        Evidence(f"{f.id}: {f.message}", f"{f.location.path}:{f.location.line}") for f in known if f.location
    ]
    return replace(seen, evidence=[*seen.evidence, *more])


def _stands(finding: Finding, line: SourceLine) -> bool:
    """Return whether a script's finding stands on a line of a log's traceback, which still is that line."""
    at = finding.location
    if at is None or at.line != line.line or _base(at.path) != _base(line.path):
        return False
    text = finding.evidence[0].text if finding.evidence else ""
    return not line.text or not text or line.text.strip() == text.strip()


def _same(mixed: Mixed) -> None:
    """Join what a script shows with what facts show under the same id: the script's line is where to begin."""
    for fact in list(mixed.facts):
        script = next((f for f in mixed.script if f.id == fact.id), None)
        if script is None or fact.role is not Role.CAUSE:
            continue
        shows = "the checkpoint" if fact.source is Source.CHECKPOINT else "this machine"
        place = mixed.script.index(script)
        mixed.script[place] = replace(
            script,
            severity=min(script.severity, fact.severity, key=lambda severity: severity.rank),
            message=f"{script.message}; {shows} shows it: {fact.message}",
            evidence=[*script.evidence, *fact.evidence],
            fixes=_once([*script.fixes, *fact.fixes]),
        )
        mixed.facts = [f for f in mixed.facts if f is not fact]


def _beside_no_failure(finding: Finding, log: Log) -> Finding:
    """Return a script's error as a warning, where the log of a run shows no failure; a hang ends it in the middle."""
    if finding.severity is not Severity.ERROR:
        return finding
    if log.middle:
        return replace(finding, message=f"{finding.message}; the log ends in the middle, at {log.middle}")
    said = "no failure shows in the log: that run did not come here, or this fault prints nothing"
    return replace(finding, severity=Severity.WARNING, message=f"{finding.message}; {said}")


def _of_both(script: Sequence[Fix], log: Sequence[Fix]) -> list[Fix]:
    """Return what a script and a log of it have as fixes: how the ranks are started, the log alone knows."""
    known = {fix.summary for fix in log}
    return _once([*(f for f in script if f.summary in known or TORCHRUN.search(f.command) is None), *log])


def _once(fixes: Sequence[Fix]) -> list[Fix]:
    """Return each fix once, where it is said first, mitigations last.

    An edit stands in its first version, with the names of the script. Of a command the last counts: that of a log or of
    facts names the launcher and the values of that run.
    """
    once: dict[str, Fix] = {}
    for fix in fixes:
        if fix.kind is not Kind.EDIT or fix.summary not in once:
            once[fix.summary] = fix
    return sorted(once.values(), key=lambda fix: fix.kind is Kind.MITIGATION)


def _base(path: str) -> str:
    return os.path.basename(path.replace("\\", "/")).partition(":cell ")[0]
