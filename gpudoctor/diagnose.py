"""Hand what is known of a machine and of checkpoints to the checks, and say what it comes to."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from gpudoctor.facts import CheckpointFile, Gpus, Pci, Torch
from gpudoctor.guard import examine, parameters
from gpudoctor.launch_command import Launched, fitted
from gpudoctor.model import Check, Finding, Role, Severity, Source, layer
from gpudoctor.registry import Registry
from gpudoctor.report import WORST, Report, Result
from gpudoctor.snapshot import Snapshot
from gpudoctor.text import listed
from gpudoctor.verdict import conclude


def diagnose(
    snapshot: Snapshot,
    checks: Iterable[Check],
    failed: Sequence[Result] = (),
    registry: Registry | None = None,
) -> Report:
    """Examine a snapshot with every check that has a function for what is in it: the machine, or checkpoints.

    `failed` are the results of checks that could not be loaded; `registry` is where the checks are from.
    """
    checks = list(checks)
    files = list(snapshot.checkpoints())
    report = Report(probes=snapshot.probes, facts=dict(snapshot.facts))
    done: dict[str, Result] = {}
    if snapshot.machine or not snapshot.read:
        _examine(checks, Source.ENVIRONMENT, snapshot, report.findings, done)
        report.findings = related(report.findings, checks)
    for facts in files:
        found: list[Finding] = []
        file = facts.get(CheckpointFile)
        if file is not None and not file.unread:
            asked = [check for check in checks if _asked(check, facts)]
            _examine(asked, Source.CHECKPOINT, facts, found, done)
            front = f"{file.name}: " if len(files) > 1 else ""
            report.findings += [replace(f, message=front + f.message) for f in found]
    started = _launched(snapshot)
    report.findings = [replace(f, fixes=fitted(f.fixes, started)) for f in report.findings]
    report.checks = [*done.values(), *failed]
    return conclude(report, registry)


def related(findings: Sequence[Finding], checks: Sequence[Check]) -> list[Finding]:
    """Return findings of a machine, of which those that follow from another one say of what.

    That is so where a check's ``follows`` names the id of one that was found too, that is at least as bad and of the
    same layer or a lower one; of two that name each other neither is the other's consequence.
    """
    follows = {check.id: check.follows for check in checks}
    faults = [f for f in findings if f.severity is not Severity.NOTE]

    def causes(finding: Finding) -> set[str]:
        return {
            fault.id
            for fault in faults
            if fault.id in follows.get(finding.id, ())
            and finding.id not in follows.get(fault.id, ())
            and fault.severity.rank <= finding.severity.rank
            and layer(fault.family) <= layer(finding.family)
        }

    return [_after(finding, causes(finding)) if finding in faults else finding for finding in findings]


def _after(finding: Finding, causes: set[str]) -> Finding:
    """Return a finding as the consequence of others, where there are any."""
    if not causes:
        return finding
    message = f"{finding.message} (follows from {listed(sorted(causes))})"
    return replace(finding, role=Role.CONSEQUENCE, severity=Severity.NOTE, message=message)


def _launched(snapshot: Snapshot) -> Launched:
    """Return how ranks are started here: two, where there is no GPU to count them by."""
    pci, gpus, torch = snapshot.get(Pci), snapshot.get(Gpus), snapshot.get(Torch)
    seen = (pci and pci.usable) or (gpus and gpus.devices) or (torch and torch.device_count)
    return Launched(ranks=2 if snapshot.machine and not seen else None)


def _asked(check: Check, facts: Snapshot) -> bool:
    """Return whether what a check needs of a checkpoint was looked at: a comparison only is where one is asked for."""
    function = check.functions.get(Source.CHECKPOINT)
    needs = parameters(function) if function is not None else ()
    return all(need.optional or facts.get(need.kind) is not None for need in needs)


def _examine(
    checks: Sequence[Check], source: Source, facts: Snapshot, found: list[Finding], done: dict[str, Result]
) -> None:
    """Add what checks find and what became of them; of several subjects a check's worst result stays."""
    for check in checks:
        if source in check.functions:
            result, findings = examine(check, source, facts)
            found += findings
            done[check.id] = _worse(done, result)


def _worse(done: dict[str, Result], result: Result) -> Result:
    return max(done.get(result.id, result), result, key=lambda r: WORST.index(r.status))


def worst(results: Iterable[Result]) -> list[Result]:
    """Return one result for each check: of several kinds of evidence the worst."""
    done: dict[str, Result] = {}
    for result in results:
        done[result.id] = _worse(done, result)
    return list(done.values())


def wanted(check: Check) -> set[type]:
    """Return the types of the facts of a machine that a check asks for, required or not."""
    function = check.functions.get(Source.ENVIRONMENT)
    return {parameter.kind for parameter in parameters(function)} if function is not None else set()
