"""What scripts alone come to, in one sentence."""

from gpudoctor.facts import Code
from gpudoctor.model import Severity
from gpudoctor.report import CheckStatus, Report, Status, Verdict
from gpudoctor.text import count, joined, listed


def of_scripts(report: Report, code: Code) -> Verdict:
    """Return what scripts alone come to: how much was found, and where the first of it stands."""
    read = f"{count(code.lines, 'line')} of {count(code.files - len(code.unread), 'file')}"
    unread = f" {count(len(code.unread), 'file')} could not be read." if code.unread else ""
    unread += f" {count(len(code.partly), 'file')} could be followed in part alone." if code.partly else ""
    crashed = [result.what for result in report.with_status(CheckStatus.CRASHED)]
    unread += f" Not all was seen: {listed(crashed)} crashed." if crashed else ""
    first = next((f for f in report.findings if f.severity is not Severity.NOTE), None)
    numbers = ((sum(f.severity is s for f in report.findings), s.value) for s in Severity)
    counts = joined(count(number, noun) for number, noun in numbers if number)
    if first is None:
        status = Status.UNKNOWN if unread else Status.HEALTHY
        read += f"; {counts}" if counts else ""
        return Verdict(status=status, sentence=f"No known failure shows in {read}.{unread}")
    at = f" at {first.location.path}:{first.location.line}" if first.location else ""
    status = Status.BROKEN if first.severity is Severity.ERROR else Status.SUSPECT
    sentence = f"{counts} in {read}; first of all {first.id}{at}.{unread}"
    return Verdict(status=status, primary=first.id, sentence=sentence)
