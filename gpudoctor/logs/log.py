"""A training log beside the facts: each symptom in it is a finding, the first one in the text the cause."""

import gzip
import re
import sys
from collections.abc import Iterable
from typing import BinaryIO

import msgspec

from gpudoctor.explain.symptoms import Match, matches
from gpudoctor.model import Check, Evidence, Finding, Report, Role, Source

MOST = 16 * 1024 * 1024
"""Bytes of a log that are read: its end, where the error is."""
RANK = re.compile(r"^\W{0,3}(?:rank|default)(\d+)\]")


def read_log(path: str) -> str:
    """Read the last part of a log, plain or packed by gzip, ``-`` for standard input; raises OSError and EOFError."""
    if path == "-":
        return _tail(sys.stdin.buffer).decode(errors="replace")
    with open(path, "rb") as file:
        if not file.seekable():
            return _tail(file).decode(errors="replace")
        packed = file.read(2) == b"\x1f\x8b"
        file.seek(0, 2)
        file.seek(0 if packed else max(0, file.tell() - MOST))
        data = _tail(gzip.GzipFile(fileobj=file)) if packed else file.read(MOST)
    return data.decode(errors="replace")


def _tail(stream: BinaryIO | gzip.GzipFile) -> bytes:
    """Read a stream to its end and keep the last part."""
    kept = b""
    while piece := stream.read(MOST):
        kept = (kept + piece)[-MOST:]
    return kept


def add_symptoms(
    report: Report, text: str, name: str, checks: Iterable[Check], source: Source = Source.LOG
) -> None:
    """Add the failures that a text shows to a report's findings.

    The first one in the text is the cause and the later ones consequences; a failure that the facts show as well
    gets the line as further evidence. `name` is the text's own, for quoting.
    """
    seen = {finding.id: number for number, finding in enumerate(report.findings)}
    cause: str | None = None
    for match in matches(text, checks):
        evidence = Evidence(match.line[:500], f"{name}:{match.number}", _rank(match.line))
        if match.check.id in seen:
            old = report.findings[seen[match.check.id]]
            report.findings[seen[match.check.id]] = msgspec.structs.replace(
                old, evidence=[*old.evidence, evidence]
            )
        else:
            report.findings.append(_finding(match, evidence, cause, source))
        cause = cause or match.check.id
    report.findings.sort(key=lambda finding: finding.order)


def _finding(match: Match, evidence: Evidence, cause: str | None, source: Source) -> Finding:
    details = ", ".join(f"{name} {value}" for name, value in match.groups.items())
    said = "the log says so" if source is Source.LOG else "the training run says so"
    return match.check.found(
        said + (f" ({details})" if details else "") + (f", after {cause}" if cause else ""),
        source=source,
        role=Role.CONSEQUENCE if cause else Role.CAUSE,
        evidence=[evidence],
    )


def _rank(line: str) -> int | None:
    match = RANK.match(line)
    return int(match[1]) if match else None
