"""Examine a machine and the patient's environment, or what a saved report tells of them, and files beside it."""

import os
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gpudoctor.bad_input import BadInput
from gpudoctor.evidence import Evidence, read
from gpudoctor.facts import GivenFile, GivenKind, Rank, Ranks, Silence
from gpudoctor.interpreter import Patient, Unusable, choose_patient
from gpudoctor.model import Source
from gpudoctor.recognition import recognise
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, ProbeResult, ProbeStatus, Report, Say

QUICK = 1 << 17
"""Bytes of files that are read while the probes run: a script of 3,000 lines takes 0.2 s."""

if TYPE_CHECKING:
    from gpudoctor.importers import Imported
    from gpudoctor.model import Check
    from gpudoctor.snapshot import Snapshot


def check(
    *files: str | Path,
    python: str | None = None,
    only: Iterable[str] = (),
    skip: Iterable[str] = (),
    source: str | None = None,
    log: str | None = None,
    deep: bool = False,
    checks: Registry | Iterable[Path] = (),
    timeout: float | None = None,
    cache: bool = True,
    say: Say = lambda doing: None,
    warn: Say = lambda skipped: None,
) -> Report:
    """Examine this machine and the Python that trains, or what `source` tells of another; nothing is changed.

    `files` are scripts, logs, checkpoints, saved reports, or folders of them: each is read as what it is, and all
    of it comes to one cause. Of several reports, of ranks of one launch, the first is examined, and all are
    compared. `python` names the patient, `only` and `skip` checks by id or family, `source` a saved report, a ticket
    or the text of collect_env (``-``: standard input), `log` a training log to explain beside the
    facts, `checks` folders of local check files. `deep` measures, too: GPUs, links, collectives, the disk; that
    takes up to 30 s, with GPUs up to two minutes. `timeout`, in seconds, lowers the deadline of each probe and
    measurement. `cache` keeps what the libraries' files say, which changes with the files alone, under the user's
    cache folder. `say` is told now and then what is being done, `warn` what of it cannot be read. Raises
    `BadInput`.

        >>> report = gpudoctor.check("train.py", "train.log", only=["network"])
        >>> report.verdict.sentence
    """
    registry = Registry.of(checks)
    only, skip = tuple(only), tuple(skip)
    ids = registry.select(only, skip)
    given, source, beside = _given(files, log, source)
    if deep and source is not None:
        raise BadInput("--deep measures this machine; of a saved report, what was measured then is judged")
    saved, unrecognised = _saved(source, python, registry)
    evidence = Evidence()

    def read_given() -> None:
        nonlocal evidence
        evidence = read(given, registry, only, skip, say, warn)

    quick = saved is None and _quick(given)
    if given and not quick:
        read_given()
    if saved:
        snapshot = saved.snapshot
    else:
        meanwhile = read_given if quick else None
        snapshot = look(
            registry, ids, bool(only), python, timeout, say, deep=deep, cache=cache, meanwhile=meanwhile
        )
    from gpudoctor.diagnose import diagnose

    evidence.add_facts(snapshot)
    if beside and source is not None:
        _set_beside(snapshot, source, beside, registry, warn)
    report = diagnose(snapshot, registry.checks(ids), registry.failed, registry)
    if saved is not None and saved.report is None:
        _complained(saved, unrecognised, report, registry, ids)
    earlier = saved.report if saved is not None else None
    if earlier is not None:
        _carry(earlier, report, registry, ids, by_name=bool(only))
    if given:
        report = _beside(evidence, report, registry, ids, earlier.created if earlier is not None else "")
    report.command = "check"
    return report


def _quick(given: list[GivenFile]) -> bool:
    """Return whether files are read in a fraction of a second; what takes longer, or is waited for, comes first."""
    return (
        bool(given)
        and all(file.kind is not GivenKind.CHECKPOINT and os.path.isfile(file.path) for file in given)
        and sum(os.path.getsize(file.path) for file in given) <= QUICK
    )


def _given(
    files: Iterable[str | Path], log: str | None, source: str | None
) -> tuple[list[GivenFile], str | None, list[str]]:
    """Return what each file is taken for, the saved report to examine, and those of other ranks to set beside it."""
    given = recognise(map(str, files))
    reports = [source] if source is not None else []
    reports += [file.path for file in given if file.kind is GivenKind.REPORT]
    if len(set(reports)) < len(reports):
        raise BadInput(f"{', '.join(reports)}: one saved report is given twice")
    given = [file for file in given if file.kind is not GivenKind.REPORT]
    given += [GivenFile(path=log, kind=GivenKind.LOG)] if log is not None else []
    return given, (reports[0] if reports else None), reports[1:]


def _set_beside(snapshot: "Snapshot", source: str, beside: list[str], registry: Registry, warn: Say) -> None:
    """Add what the reports of other ranks say of the launch: the first is examined, all are compared."""
    from gpudoctor.importers import read as read_report

    others = {path: read_report(path, registry.topics).snapshot for path in beside}
    each = [Rank.of(path, one.facts.values()) for path, one in {source: snapshot, **others}.items()]
    snapshot.facts["ranks"] = Ranks(each=each)
    for path in beside:
        warn(
            f"{path}: compared with {source}; what is wrong with its own machine shows where it is examined alone"
        )


def _beside(evidence: Evidence, report: Report, registry: Registry, ids: list[str], saved: str) -> Report:
    """Set what files show beside what is known of the machine and of checkpoints: each failure once, and one cause."""
    from gpudoctor.correlation import correlate
    from gpudoctor.diagnose import worst
    from gpudoctor.verdict import conclude

    explained = evidence.explained
    if explained is not None:
        from gpudoctor.logs.corroboration import corroborate

        explained.findings = [finding for finding in explained.findings if finding.id in ids]
        report = corroborate(explained, report, registry, saved=saved)
    log = report.facts.get("log") if explained is not None else None
    scripts = evidence.linted.findings if evidence.linted is not None else []
    mixed = correlate(report.findings, scripts, registry.follows, log, evidence.names)
    report.findings = mixed.findings()
    if evidence.linted is not None:
        report.checks = worst([*report.checks, *evidence.linted.checks])
        report.facts |= evidence.linted.facts
    return conclude(report, registry)


def _saved(
    source: str | None, python: str | None, registry: Registry
) -> "tuple[Imported | None, BadInput | None]":
    """Read what a saved report tells, where one is to be examined; with why nothing in it is known, if so."""
    if source is None:
        return None, None
    if python is not None:
        raise BadInput(f"--python {python}: a saved report is examined without any Python")
    from gpudoctor.importers import Unrecognised
    from gpudoctor.importers import read as read_report

    try:
        return read_report(source, registry.topics), None
    except Unrecognised as error:
        return error.imported, error


def _complained(
    saved: "Imported", unrecognised: BadInput | None, report: Report, registry: Registry, ids: list[str]
) -> None:
    """Add what the words of a text show; raise why nothing in it is known, where they show nothing either."""
    from gpudoctor import complaints

    found = complaints.read(saved.text, "the text", registry)
    if unrecognised is not None and not found.findings:
        if found.of_one_program:
            shown = ", ".join(found.of_one_program[:3])
            raise BadInput(f"{unrecognised}; what it says of {shown}, gpudoctor explain tells: it reads logs")
        raise unrecognised
    complaints.add(found, report, registry, ids)


def _carry(saved: Report, report: Report, registry: Registry, asked: list[str], *, by_name: bool) -> None:
    """Take over, as it was said, what a saved report found in what it does not carry: logs, runs, source code.

    Of checks that are not known here any more, too, unless those of `asked` were named.
    """
    from gpudoctor.verdict import conclude

    def chosen(id: str) -> bool:
        return id in asked or not (by_name or id in registry.modules)

    own = (Source.ENVIRONMENT, Source.CHECKPOINT)  # the facts tell those again
    told = [f for f in saved.findings if f.source not in own and chosen(f.id)]
    ids = {id for finding in told for id in (finding.id, *finding.also)}
    report.findings = told + [finding for finding in report.findings if finding.id not in ids]
    known = {result.id for result in report.checks}
    report.checks += [r for r in saved.with_status(CheckStatus.CRASHED) if r.id not in known and chosen(r.id)]
    report.proofs += saved.proofs
    conclude(report, registry)


def look(
    registry: Registry,
    ids: list[str],
    narrow: bool,
    python: str | None,
    timeout: float | None,
    say: Say,
    *,
    deep: bool = False,
    cache: bool = True,
    meanwhile: Callable[[], None] | None = None,
) -> "Snapshot":
    """Ask the probes; only those that the checks of `ids` need, when `narrow`. Then measure, where `deep`.

    `meanwhile` is done once, while the patient imports torch.
    """
    from gpudoctor.collect import collect

    patient = choose_patient(python)
    probes = registry.probes
    if narrow:
        from gpudoctor.diagnose import wanted

        kinds = {kind for check in registry.checks(ids) for kind in wanted(check)}
        if deep:
            from gpudoctor.deep import GROUND

            kinds |= GROUND
        probes = [p for p in probes if p.name == "python" or kinds & set(p.topics.values())]
    if not cache:
        probes = [replace(p, arguments=("--no-cache",)) if p.script else p for p in probes]
    begun = time.monotonic()
    loaded: list[Check] = []
    left = [meanwhile] if meanwhile is not None else []

    def progress(running: dict[str, str]) -> None:
        if not loaded:  # a twentieth of a second that nobody waits for
            loaded.extend(registry.checks(ids))
            while left:
                left.pop()()
        doing = ", ".join(f"{name}: {what}" if what else name for name, what in running.items())
        say(f"{time.monotonic() - begun:.0f} s  {doing}")

    snapshot = collect(probes, patient, timeout, progress)
    while left:
        left.pop()()
    silence = snapshot.get(Silence)
    if python is not None and silence is not None and not silence.started:
        raise Unusable(f"--python {python}: {silence.how}")
    _measure(snapshot, patient, timeout, say, deep=deep)
    return snapshot


def _measure(snapshot: "Snapshot", patient: Patient, timeout: float | None, say: Say, *, deep: bool) -> None:
    """Add what was measured to a snapshot, or that it was not asked for."""
    if deep:
        from gpudoctor.deep import measure

        facts = measure(snapshot, patient, timeout, say)
        snapshot.facts["measurements"] = facts
        result = ProbeResult(name="measurements", status=ProbeStatus.OK, seconds=facts.seconds)
    else:
        reason = "only gpudoctor check --deep measures"
        result = ProbeResult(name="measurements", status=ProbeStatus.SKIPPED, reason=reason)
    snapshot.probes.append(result)
