"""Findings of scripts, a line each: for people and editors, and as what GitHub's runner shows at the line."""

from gpudoctor.model import Finding, Severity
from gpudoctor.render.source_lines import place
from gpudoctor.report import Report
from gpudoctor.text import one_line

COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
"""GitHub's workflow commands (docs.github.com, "Workflow commands for GitHub Actions")."""


def ordered(report: Report) -> list[Finding]:
    """Return the findings that have a place, in the order of their files and lines."""
    placed = [finding for finding in report.findings if finding.location is not None]
    return sorted(
        placed, key=lambda f: (f.location.path, f.location.line, f.location.column) if f.location else ()
    )


def concise(report: Report) -> str:
    """Write ``path:line:column: severity id: message`` for each finding."""
    lines = []
    for finding in ordered(report):
        assert finding.location is not None
        said = one_line(finding.message)
        lines.append(f"{place(finding.location)}: {finding.severity.value} {finding.id}: {said}\n")
    return "".join(lines)


def github(report: Report) -> str:
    """Write a workflow command for each finding."""
    lines = []
    for finding in ordered(report):
        at = finding.location
        assert at is not None
        path, dot, cell = at.path.partition(":cell ")
        title = f"{finding.id} ({dot.strip(':')}{cell})" if cell else finding.id
        line = "" if cell else f"line={at.line},col={at.column},"
        command = f"::{COMMANDS[finding.severity]} file={_property(path)},{line}title={_property(title)}"
        lines.append(f"{command}::{_data(finding.message)}\n")
    return "".join(lines)


def _data(text: str) -> str:
    """Escape a message, as @actions/core's ``escapeData`` does."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    """Escape a property, as @actions/core's ``escapeProperty`` does."""
    return _data(text).replace(":", "%3A").replace(",", "%2C")
