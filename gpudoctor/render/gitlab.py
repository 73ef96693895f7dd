"""Findings of scripts as GitLab's code quality report, which it shows in a merge request."""

import hashlib
from collections import Counter
from typing import Any

from gpudoctor.model import Severity
from gpudoctor.render.annotations import ordered
from gpudoctor.render.json import indented
from gpudoctor.render.source_lines import own_line
from gpudoctor.report import Report

SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.NOTE: "info"}
"""Of GitLab's info, minor, major, critical and blocker (docs.gitlab.com, "Code Quality", report format)."""


def gitlab(report: Report) -> str:
    """Write a JSON array with an entry for each finding.

    Its fingerprint is made of file, check and source line, not of the line's number: what moves stays the same.
    """
    entries: list[dict[str, Any]] = []
    seen: Counter[str] = Counter()
    for finding in ordered(report):
        at = finding.location
        assert at is not None
        own = own_line(finding)
        same = "\0".join((at.path, finding.id, own.text.strip() if own else finding.message))
        seen[same] += 1
        digest = hashlib.sha256(f"{same}\0{seen[same]}".encode(errors="backslashreplace")).hexdigest()
        path, _, cell = at.path.partition(":cell ")
        entries.append(
            {
                "description": f"{finding.message} ({finding.id})",
                "check_name": finding.id,
                "fingerprint": digest[:32],
                "severity": SEVERITIES[finding.severity],
                "location": {"path": path, "lines": {"begin": 1 if cell else at.line}},
            }
        )
    return indented(entries)
