"""Hand facts to checks by type, guard each, rank the findings, and say what it comes to."""

import time
import traceback
from collections.abc import Iterable, Iterator
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from gpudoctor.facts import Gpus, Pci, Torch
from gpudoctor.model import (
    CannotTell,
    Check,
    CheckStatus,
    Finding,
    ProbeStatus,
    Proof,
    ProofStatus,
    Report,
    Result,
    Severity,
    Status,
    Verdict,
)
from gpudoctor.snapshot import Snapshot


def diagnose(snapshot: Snapshot, checks: Iterable[Check]) -> Report:
    """Examine a snapshot with each check that has an environment function; findings come most likely cause first."""
    findings: list[Finding] = []
    results: list[Result] = []
    for check in checks:
        if check.environment_function is not None:
            result, found = examine(check, snapshot)
            results.append(result)
            findings.extend(found)
    findings.sort(key=lambda finding: finding.order)
    report = Report(findings=findings, checks=results, probes=snapshot.probes, facts=dict(snapshot.facts))
    report.verdict = verdict(report, snapshot)
    return report


def examine(check: Check, snapshot: Snapshot) -> tuple[Result, list[Finding]]:
    """Run one check on the facts; whatever it raises is its own result, never the end of the run."""
    begun = time.monotonic()
    found: list[Finding] = []
    reason = None
    try:
        arguments, missing = _arguments(check, snapshot)
        if missing:
            status, reason = CheckStatus.UNKNOWN, missing
        else:
            assert check.environment_function is not None
            yielded: list[Any] = list(check.environment_function(**arguments))
            if wrong := next((f for f in yielded if not isinstance(f, Finding)), None):
                raise TypeError(f"it yields {wrong!r}, which is no Finding")
            found = yielded
            status = CheckStatus.FOUND if found else CheckStatus.PASSED
    except CannotTell as error:
        status, reason = CheckStatus.UNKNOWN, str(error)
    except (Exception, SystemExit) as error:
        found = []
        place = traceback.extract_tb(error.__traceback__)[-1]
        status = CheckStatus.CRASHED
        reason = f"{type(error).__name__}: {error} ({place.name}, line {place.lineno})"
    seconds = round(time.monotonic() - begun, 6)
    return Result(id=check.id, status=status, reason=reason, seconds=seconds), found


def _arguments(check: Check, snapshot: Snapshot) -> tuple[dict[str, Any], str | None]:
    """Return the facts that a check asks for, and why a required one is not there."""
    arguments: dict[str, Any] = {}
    for name, kind, optional in _parameters(check):
        arguments[name] = snapshot.get(kind)
        if arguments[name] is None and not optional:
            return {}, snapshot.reason(kind)
    return arguments, None


def _parameters(check: Check) -> Iterator[tuple[str, type, bool]]:
    """Yield each fact that a check asks for: the parameter's name, the type, and whether it may be absent."""
    for name, hint in get_type_hints(check.environment_function).items():
        if name != "return":
            optional = get_origin(hint) in (Union, UnionType)
            yield name, next(k for k in get_args(hint) if k is not NoneType) if optional else hint, optional


def verdict(report: Report, snapshot: Snapshot) -> Verdict:
    """Say in one sentence what the report comes to."""
    worst = report.worst()
    if worst in (Severity.ERROR, Severity.WARNING):
        first = report.findings[0]
        status = Status.BROKEN if worst is Severity.ERROR else Status.SUSPECT
        words = "Most likely cause" if worst is Severity.ERROR else "Nothing is broken; worth a look"
        return Verdict(status=status, primary=first.id, sentence=f"{words}: {first.id}.")
    failed = [
        proof.id for proof in report.proofs if not proof.held and proof.fixed is not ProofStatus.NOT_RUN
    ]
    if failed:
        sentence = f"No known cause was found, and what ran did not do what it must: {', '.join(failed)}."
        return Verdict(status=Status.BROKEN, sentence=sentence)
    crashed = [r.id for r in report.with_status(CheckStatus.CRASHED)]
    blind = [p for p in report.probes if p.status not in (ProbeStatus.OK, ProbeStatus.SKIPPED)]
    if blind or crashed:
        causes = [f"{p.name} ({p.reason or p.status.value})" for p in blind] + [
            f"check {id} crashed" for id in crashed
        ]
        return Verdict(
            status=Status.UNKNOWN,
            sentence=f"Nothing wrong was found, and not all was seen: {'; '.join(causes)}.",
        )
    if report.proofs and not report.checks:
        return _proven(report.proofs)
    if not report.checks:
        sentence = "Nothing was examined: these failures show in logs (--log FILE), not in the environment."
        return Verdict(status=Status.UNKNOWN, sentence=sentence)
    if all(result.status is CheckStatus.UNKNOWN for result in report.checks):
        return Verdict(
            status=Status.UNKNOWN, sentence=f"Nothing could be examined: {report.checks[0].reason}."
        )
    return _fitness(snapshot)


def _proven(proofs: list[Proof]) -> Verdict:
    """Say what a run of reproductions and training modes, without any check, comes to."""
    trained = [proof.id for proof in proofs if proof.held and proof.broken is None]
    proven = [proof.id for proof in proofs if proof.held and proof.broken is not None]
    idle = [f"{proof.id} ({proof.reason})" for proof in proofs if not proof.held]
    groups = (("It trains", trained), ("Proven", proven), ("Not run", idle))
    sentence = " ".join(f"{words}: {', '.join(names)}." for words, names in groups if names)
    return Verdict(status=Status.HEALTHY if trained or proven else Status.UNKNOWN, sentence=sentence)


def _fitness(snapshot: Snapshot) -> Verdict:
    """Say what a machine without findings can do."""
    torch, gpus, pci = snapshot.get(Torch), snapshot.get(Gpus), snapshot.get(Pci)
    if torch is None or not torch.imported:
        return Verdict(status=Status.HEALTHY, sentence="Nothing wrong in what could be seen.")
    if torch.cuda_available:
        count = torch.device_count or len(torch.devices)
        backend = "NCCL" if torch.nccl_available else "gloo"
        sees = f"torch {torch.version} sees {count} GPU{'s' if count != 1 else ''}"
        return Verdict(
            status=Status.HEALTHY, sentence=f"Healthy: {sees}; distributed training over {backend}."
        )
    # A GPU that is handed on to a virtual machine is not this system's.
    own = [device for device in pci.gpus if device.driver != "vfio-pci"] if pci else []
    if own or (gpus and gpus.devices):
        why = torch.cuda_error.message.split(". ")[0] if torch.cuda_error else "it does not say why"
        sentence = (
            f"No known failure was found, yet torch {torch.version} cannot use this machine's GPU: {why}."
        )
        return Verdict(status=Status.UNKNOWN, sentence=sentence)
    backend = "gloo" if torch.gloo_available else "no backend"
    here = f"torch {torch.version}, distributed over {backend}; no NVIDIA GPU here"
    return Verdict(status=Status.HEALTHY, sentence=f"Healthy for CPU training: {here}.")


def wanted(check: Check) -> set[type]:
    """Return the types of the facts that a check asks for, required or not."""
    return {kind for _, kind, _ in _parameters(check)} if check.environment_function is not None else set()
