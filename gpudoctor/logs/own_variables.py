"""What the variables with which a command was run say of its failure: they are those of this process."""

import os
from collections.abc import Mapping

from gpudoctor.correlation import correlate
from gpudoctor.diagnose import diagnose
from gpudoctor.facts import Launch, Log
from gpudoctor.model import Role, Severity
from gpudoctor.registry import Registry
from gpudoctor.report import Report
from gpudoctor.snapshot import Snapshot
from gpudoctor.verdict import conclude

FAMILY = "network"
"""Of what goes wrong there the launch's variables may be the reason, such as a rank that nobody waits for."""


def beside_variables(report: Report, registry: Registry, variables: Mapping[str, str] = os.environ) -> Report:
    """Put in the place of a command's failure what its launch variables show it to follow from."""
    log = report.facts.get("log")
    first = report.findings[0] if report.findings else None
    if not isinstance(log, Log) or first is None or first.family != FAMILY or first.role is not Role.CAUSE:
        return report
    launch = Snapshot({"launch": Launch.of(variables)})
    found = diagnose(launch, registry.checks(sorted(registry.follows(first.id)))).findings
    known = [finding for finding in found if finding.severity is Severity.ERROR]
    if not known:
        return report
    report.findings = correlate([*report.findings, *known], [], registry.follows, log).log
    return conclude(report, registry)
