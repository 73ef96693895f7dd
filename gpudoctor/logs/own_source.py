"""The scripts that a log's tracebacks name, where they lie here and still are what they were."""

import os
import stat

from gpudoctor.bad_input import BadInput
from gpudoctor.correlation import correlate
from gpudoctor.facts import Log, SourceLine
from gpudoctor.model import Role, Severity
from gpudoctor.registry import Registry
from gpudoctor.report import Report
from gpudoctor.verdict import conclude

FILES_MOST = 8
BYTES_MOST = 1 << 20
"""A script is smaller; a log may name anything."""


def beside_source(report: Report, registry: Registry) -> Report:
    """Set what is known of the scripts beside a log's cause; a report without a cause stays as it is."""
    log = report.facts.get("log")
    first = report.findings[0] if report.findings else None
    if not isinstance(log, Log) or first is None or first.role is not Role.CAUSE:
        return report
    files = unchanged(log)
    if not files or first.severity is Severity.NOTE:
        return report
    from gpudoctor.code.linting import lint

    try:
        known = lint(files, checks=registry).findings
    except BadInput:
        return report
    report.findings = correlate(report.findings, known, registry.follows, log).log
    return conclude(report, registry)


def unchanged(log: Log) -> list[str]:
    """Return the Python files among those that tracebacks name that are here, each line of them as it was quoted."""
    lines: dict[str, list[SourceLine]] = {}
    for line in log.own:
        lines.setdefault(line.path, []).append(line)
    found = [path for path, quoted in lines.items() if path.endswith(".py") and _as_quoted(path, quoted)]
    return found[:FILES_MOST]


def _as_quoted(path: str, quoted: list[SourceLine]) -> bool:
    texts = [line for line in quoted if line.text]
    if not texts:
        return False
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode) or status.st_size > BYTES_MOST:
            return False
        with open(path, encoding="utf-8", errors="replace") as file:
            source = file.read(BYTES_MOST).split("\n")
    except (OSError, ValueError):
        return False
    return all(
        line.line <= len(source) and source[line.line - 1].strip() == line.text.strip() for line in texts
    )
