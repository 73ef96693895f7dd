"""What could not be checked, by the reason why."""

from collections import defaultdict

from gpudoctor.report import NOT_IN_TEXT, CheckStatus, ProbeResult, ProbeStatus, Report
from gpudoctor.text import count


def not_checked(report: Report, *, crashed: bool) -> dict[str, list[str]]:
    """Return the ids of the checks that ended without an answer, by the reason: those that crashed, or the others."""
    reasons: dict[str, list[str]] = defaultdict(list)
    for result in report.checks:
        if result.status is (CheckStatus.CRASHED if crashed else CheckStatus.UNKNOWN):
            reasons[result.reason or result.status.value].append(result.id)
    return reasons


def not_seen(report: Report) -> list[ProbeResult]:
    """Return the probes that were asked and could not answer, without those that a check above gives as its reason."""
    given = " ".join([*not_checked(report, crashed=False), *not_checked(report, crashed=True)])
    found = []
    for probe in report.probes:
        if probe.blind and (not probe.reason or probe.reason not in given):
            found.append(probe)
            given += probe.reason or ""
    return found


def untold(report: Report) -> str:
    """Say in a line what a pasted text does not tell; empty for a machine that was looked at, and for its saved report.

    Nobody could have looked: a list of ids, most of the catalogue, would hide what the text does tell.
    """
    topics = [p.name for p in report.probes if p.status is ProbeStatus.SKIPPED and p.reason == NOT_IN_TEXT]
    number = sum(len(ids) for ids in not_checked(report, crashed=False).values())
    if not topics or not number:
        return ""
    of = ", ".join(topic.replace("_", " ") for topic in topics)
    return f"{count(number, 'check')} would need what this text does not hold: {of}"
