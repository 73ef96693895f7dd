"""The user's scripts, where they lie here: those that a log's tracebacks name, and those that a command runs."""

import os
import stat
from collections.abc import Iterable

from gpudoctor.bad_input import BadInput
from gpudoctor.correlation import correlate
from gpudoctor.facts import Log, SourceLine
from gpudoctor.model import Role, Severity
from gpudoctor.patterns import late_pattern
from gpudoctor.registry import Registry
from gpudoctor.report import Report
from gpudoctor.verdict import conclude

FILES_MOST = 8
BYTES_MOST = 1 << 20
"""A script is smaller; a log may name anything."""


SCRIPT = late_pattern(r"[^\s'\"=;|&<>()]+\.py(?![\w.])")


def beside_source(report: Report, registry: Registry, run: Iterable[str] = ()) -> Report:
    """Set what is known of the scripts beside a log's cause; a report without a cause stays as it is.

    `run` are the scripts that the command ran, where it was run here.
    """
    log = report.facts.get("log")
    first = report.findings[0] if report.findings else None
    if not isinstance(log, Log) or first is None or first.role is not Role.CAUSE:
        return report
    files = _once([*run, *unchanged(log)])
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


def scripts_of(arguments: Iterable[str]) -> list[str]:
    """Return the Python files that a command line names, ``-m package.module`` among them, as far as they are here."""
    found: list[str] = []
    before = ""
    for argument in arguments:
        named = [argument.replace(".", "/") + ".py"] if before in ("-m", "--module") else []
        found += [path for path in named + SCRIPT.findall(argument) if _small_file(path)]
        before = argument
    return found


def _once(paths: Iterable[str]) -> list[str]:
    """Return each file once, as it is called first."""
    found: dict[str, str] = {}
    for path in paths:
        found.setdefault(os.path.realpath(path), path)
    return list(found.values())[:FILES_MOST]


def _small_file(path: str) -> bool:
    try:
        status = os.stat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size <= BYTES_MOST


def source_of(path: str) -> str | None:
    """Return the text of a file that a log names, where it lies here and is no larger than a script."""
    if not _small_file(path):
        return None
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(BYTES_MOST)
    except (OSError, ValueError):
        return None


def _as_quoted(path: str, quoted: list[SourceLine]) -> bool:
    texts = [line for line in quoted if line.text]
    text = source_of(path) if texts else None
    if text is None:
        return False
    source = text.split("\n")
    return all(
        line.line <= len(source) and source[line.line - 1].strip() == line.text.strip() for line in texts
    )
