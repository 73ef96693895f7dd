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
    if not isinstance(log, Log):
        return report
    silent = report.worst() in (None, Severity.NOTE) and log.lines <= 1
    if silent:
        # It was ended from outside before it said a word: a rank that meets nobody waits so.
        own = [id for id, (module, _) in registry.modules.items() if module.split(".")[-2] == FAMILY]
        ids = {id for each in own for id in registry.follows(each)}
    elif first is not None and first.family == FAMILY and first.role is Role.CAUSE:
        ids = set(registry.follows(first.id))
    else:
        return report
    launch = Snapshot({"launch": Launch.of(variables)})
    found = diagnose(launch, registry.checks(sorted(ids))).findings
    known = [finding for finding in found if finding.severity is Severity.ERROR]
    if not known:
        return report
    if silent:
        report.findings = [*known, *report.findings]
    else:
        report.findings = correlate([*report.findings, *known], [], registry.follows, log).log
    return conclude(report, registry)
