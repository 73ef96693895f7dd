"""What facts say of a log: a symptom whose condition they show is confirmed, one that they deny is doubtful."""

from collections.abc import Sequence

from msgspec.structs import replace

from gpudoctor.model import Finding, Fix, Role, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Report
from gpudoctor.verdict import conclude


def corroborate(
    explained: Report, diagnosed: Report, registry: Registry | None = None, *, saved: str = "",
    all_findings: bool = True,
) -> Report:  # fmt: skip
    """Return a log's report and one on facts as one, each failure once, confirmed or doubted by the facts.

    `saved` says when the facts were saved; empty where they are of now. Without `all_findings`, it is the log's report:
    what only the facts show is left out.
    """
    of_facts = [f for f in diagnosed.findings if f.source in (Source.ENVIRONMENT, Source.CHECKPOINT)]
    facts = {finding.id: finding for finding in reversed(of_facts)}
    passed = {result.id for result in diagnosed.checks if result.status is CheckStatus.PASSED}
    joined = [_joined(f, facts.get(f.id), f.id in passed, saved) for f in explained.findings]
    shown = {finding.id for finding in joined}
    rest = [f for f in diagnosed.findings if f.id not in shown] if all_findings else []
    checks = diagnosed.checks if all_findings else []
    report = Report(
        command=explained.command,
        findings=[*joined, *rest],
        checks=list({r.id: r for r in [*checks, *explained.checks]}.values()),
        probes=diagnosed.probes,
        facts=diagnosed.facts | explained.facts,
        proofs=diagnosed.proofs + explained.proofs,
    )
    return conclude(report, registry)


def _joined(seen: Finding, fact: Finding | None, passed: bool, saved: str) -> Finding:
    if fact is not None:
        severity = min(seen.severity, fact.severity, key=lambda s: s.rank)
        return replace(
            seen,
            severity=severity if seen.role is Role.CAUSE else seen.severity,
            message=f"{seen.message}; confirmed by the facts: {fact.message}",
            evidence=[*seen.evidence, *fact.evidence],
            fixes=_once([*fact.fixes, *seen.fixes]),
        )
    if passed and seen.role is Role.CAUSE and seen.severity is not Severity.NOTE:
        of = f" of {saved}" if saved else ""
        doubt = (
            f"the facts{of} show no sign of it: they may be of another machine or another moment than the log"
        )
        return replace(seen, message=f"{seen.message}; {doubt}")
    return seen


def _once(fixes: Sequence[Fix]) -> list[Fix]:
    return list(dict.fromkeys(fixes))
