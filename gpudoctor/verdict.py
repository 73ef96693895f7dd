"""What a report comes to: one order of findings of every kind of evidence, one cause, one sentence."""

from collections import Counter
from collections.abc import Container, Iterable

from gpudoctor.facts import (
    CheckpointFile,
    Code,
    Comparison,
    Given,
    GivenKind,
    Log,
    Outcome,
    Run,
    Scaling,
)
from gpudoctor.fitness import fitness
from gpudoctor.grounds import told
from gpudoctor.model import UNRECOGNISED, Finding, Role, Severity, Source, layer
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, ProbeStatus, Proof, ProofStatus, Report, Status, Verdict
from gpudoctor.script_verdict import of_scripts
from gpudoctor.snapshot import Snapshot
from gpudoctor.text import count, listed, ranks, with_signals

FINDINGS, COULD_NOT = 1, 3
"""Exit codes; 2, for bad input, is that of `BadInput`, and click's own for errors of use."""
MOST_NAMED = 8
"""Proofs of which a sentence names each."""
KEYS = "state-dict"
"""How the ids begin of what is wrong with a checkpoint's keys: that is what keeps a model from loading."""


def conclude(report: Report, registry: Registry | None = None) -> Report:
    """Put a report's findings in order, say what is known of their fixes, and give it its verdict; return it.

    `registry` knows the records of a site's own checks; without it, those that come with gpudoctor are known alone.
    """
    report.findings = told(ranked(report.findings, _background(report.findings, registry)), registry)
    report.verdict = verdict(report)
    return report


def _background(findings: Iterable[Finding], registry: Registry | None) -> set[str]:
    """Return the ids of notes that tell how a machine mostly is, where there are other notes to stand before them."""
    notes = {f.id for f in findings if f.severity is Severity.NOTE and f.role is Role.CAUSE}
    if len(notes) < 2:
        return set()
    checks = [(registry or Registry.of(())).get(id) for id in notes]
    return {check.id for check in checks if check is not None and check.background}


def ranked(findings: Iterable[Finding], background: Container[str] = ()) -> list[Finding]:
    """Sort findings, the most likely cause first; a note of those in `background` is the last of the notes.

    Causes come before consequences, then the more severe. Of those that are as bad what a log or a run shows comes
    first, for it did happen; then the lower layer; of a checkpoint what is wrong with its keys.
    """
    return sorted(findings, key=lambda finding: _order(finding, background))


def _order(finding: Finding, background: Container[str]) -> tuple[bool, int, bool, bool, int, bool]:
    happened = finding.source in (Source.LOG, Source.REPRODUCTION)
    return (
        finding.role is Role.CONSEQUENCE,
        finding.severity.rank,
        finding.severity is Severity.NOTE and finding.id in background,
        not happened,
        0 if happened else layer(finding.family),  # in a log the order is that of the one who read it
        finding.source is Source.CHECKPOINT and not finding.id.startswith(KEYS),
    )


def verdict(report: Report) -> Verdict:
    """Say in one sentence what a report comes to; its findings stand in their order."""
    snapshot = Snapshot(report.facts, report.probes)
    code = snapshot.get(Code)
    if code is not None and len(snapshot.facts) == 1:
        return of_scripts(report, code)
    said = (
        _broken(report)
        or _unproven(report)
        or _suspect(report, snapshot)
        or _unseen(report, snapshot)
        or _well(report, snapshot)
    )
    unread = _unread(snapshot)
    if not unread:
        return said
    status = Status.UNKNOWN if said.status is Status.HEALTHY else said.status
    sentence = f"{said.sentence} {count(unread, 'file')} could not be read."
    return Verdict(status=status, primary=said.primary, sentence=sentence)


def _unread(snapshot: Snapshot) -> int:
    """Return how many files could not be read, of all kinds."""
    checkpoints = sum(file.unread for file in snapshot.all(CheckpointFile))
    given = (file for each in snapshot.all(Given) for file in each.files)
    return checkpoints + sum(bool(file.unread) and file.kind is not GivenKind.CHECKPOINT for file in given)


def _broken(report: Report) -> Verdict | None:
    """Say which error is the cause; ``None`` without any."""
    first = report.findings[0] if report.findings else None
    if first is None or first.severity is not Severity.ERROR:
        return None
    return Verdict(status=Status.BROKEN, primary=first.id, sentence=_cause(first))


def _suspect(report: Report, snapshot: Snapshot) -> Verdict | None:
    """Say what is worth a look; ``None`` where that is nothing, or notes alone."""
    first = report.findings[0] if report.findings else None
    if first is None or first.severity is Severity.NOTE:
        return None
    compared = _compared(snapshot)
    of_log = first.source is Source.LOG or (first.source is Source.CODE and snapshot.get(Log) is not None)
    nothing = "Nothing failed in what this log shows" if of_log else "Nothing is broken"
    name = f"{first.id}{_tail(first)}"
    worth = f"Worth a look: {name}. {first.behind}" if first.behind else f"{nothing}; worth a look: {name}."
    sentence = compared or worth
    return Verdict(status=Status.SUSPECT, primary=first.id, sentence=sentence)


def _cause(first: Finding) -> str:
    if first.id == UNRECOGNISED:
        return f"A failure that gpudoctor does not know: {first.message}."
    words = "Only what followed shows here" if first.behind else "Most likely cause"
    return f"{words}: {first.id}{_tail(first)}." + (f" {first.behind}" if first.behind else "")


def _tail(finding: Finding) -> str:
    """Say more of the cause than its id: of a log or script on which rank and where, of a checkpoint what it is."""
    if finding.source is Source.CHECKPOINT:
        return f": {finding.message}"
    if finding.source not in (Source.LOG, Source.CODE):
        return ""
    where = finding.evidence[0].where if finding.evidence else None
    return (f" ({ranks(finding.ranks)})" if finding.ranks else "") + (f", {where}" if where else "")


def _unproven(report: Report) -> Verdict | None:
    """Say which proofs did not hold; ``None`` where all did."""
    failed = [p.id for p in report.proofs if not p.held and p.fixed is not ProofStatus.NOT_RUN]
    if not failed:
        return None
    sentence = f"No known cause was found, and what ran did not do what it must: {', '.join(failed)}."
    return Verdict(status=Status.BROKEN, sentence=sentence)


def _unseen(report: Report, snapshot: Snapshot) -> Verdict | None:
    """Say what could not be looked at; ``None`` where enough was seen."""
    run, log = snapshot.get(Run), snapshot.get(Log)
    if run is not None and run.exit_code:
        how = "was interrupted, and ended" if run.interrupted else "ended"
        ended = f"{run.name} {how} with exit code {run.exit_code} after {run.seconds:,.1f} s"
        sentence = f"{ended}; no other failure that gpudoctor knows shows in its output."
        return Verdict(status=Status.UNKNOWN, sentence=with_signals(sentence))
    if log is not None and log.middle:
        seen = (
            f"No failure shows in {count(log.lines, 'line')}, and the log ends in the middle, at {log.middle}"
        )
        sentence = f"{seen}: it still runs, or was ended without a word."
        return Verdict(status=Status.UNKNOWN, sentence=sentence)
    causes = [f"{p.name} ({p.reason or p.status.value})" for p in report.probes if p.blind]
    causes += [f"{r.what} ({r.reason})" for r in report.with_status(CheckStatus.CRASHED)]
    if causes:
        sentence = f"Nothing wrong was found, and not all was seen: {'; '.join(causes)}."
        return Verdict(status=Status.UNKNOWN, sentence=sentence)
    if _blind(report):
        sentence = f"Nothing could be examined: {report.checks[0].reason}."
        return Verdict(status=Status.UNKNOWN, sentence=sentence)
    return None


def _blind(report: Report) -> bool:
    """Return whether no check that was asked could tell; of a log all others were asked too, and saw nothing."""
    code = Snapshot(report.facts).get(Code)
    if code is not None and len(code.unread) + len(code.partly) == code.files:
        return True
    examined = report.probes or Snapshot(report.facts).get(Log) is None
    return bool(report.checks and examined and all(r.status is CheckStatus.UNKNOWN for r in report.checks))


def _well(report: Report, snapshot: Snapshot) -> Verdict:
    """Say what is there where nothing is wrong, of each kind of evidence a sentence."""
    log, given = snapshot.get(Log), snapshot.get(Given)
    said = []
    if report.checks and snapshot.machine and (given is not None or not snapshot.get(CheckpointFile)):
        said.append(fitness(snapshot))
    if snapshot.get(CheckpointFile) is not None:
        said.append(_files(snapshot))
    if log is not None and (given is not None or not said):
        said.append(Verdict(status=Status.HEALTHY, sentence=_ended_well(report, log)))
    if given is not None and (
        scripts := [f for f in given.files if f.kind is GivenKind.SCRIPT and not f.unread]
    ):
        sentence = f"No known failure shows in {listed([file.path for file in scripts])}."
        said.append(Verdict(status=Status.HEALTHY, sentence=sentence))
    if said:
        status = Status.HEALTHY if all(v.status is Status.HEALTHY for v in said) else Status.UNKNOWN
        return Verdict(status=status, sentence=" ".join(verdict.sentence for verdict in said))
    if report.proofs:
        return _proven(report.proofs)
    scaling = snapshot.get(Scaling)
    if scaling is not None:
        return Verdict(status=Status.HEALTHY, sentence=scaling.sentence)
    sentence = "Nothing was examined: these failures show in logs (--log FILE), not in the environment."
    return Verdict(status=Status.UNKNOWN, sentence=sentence)


def _files(snapshot: Snapshot) -> Verdict:
    """Say what checkpoints come to."""
    loads = all(comparison.outcome is Outcome.LOADS for comparison in snapshot.all(Comparison))
    # What does not load is a finding; where its check was left out, it is no health all the same.
    status = Status.HEALTHY if loads else Status.UNKNOWN
    read = [file for file in snapshot.all(CheckpointFile) if not file.unread]
    return Verdict(status=status, sentence=_compared(snapshot) or _loads(read))


def _ended_well(report: Report, log: Log) -> str:
    """Say of a log in which nothing failed what was handled on the way."""
    handled = [f"{finding.id}{_tail(finding)}" for finding in report.findings if finding.handled]
    if not handled:
        return f"No failure shows in {count(log.lines, 'line')}."
    return f"Nothing ended the training in {count(log.lines, 'line')}; on the way: {listed(handled)}."


def _compared(snapshot: Snapshot) -> str | None:
    """Say what comparisons come to, where that is the answer: all load, or one was asked for."""
    pairs = [(s.get(CheckpointFile), s.get(Comparison)) for s in snapshot.checkpoints()]
    compared = [(file, comparison) for file, comparison in pairs if comparison is not None]
    if not compared:
        return None
    file, first = compared[0]
    if len(compared) > 1:
        loads = all(comparison.outcome is Outcome.LOADS for _, comparison in compared)
        return f"All {len(compared)} that hold a state dict load into it." if loads else None
    return first.sentence if len(pairs) == 1 or file is None else f"{file.name}: {first.sentence}"


def _loads(files: list[CheckpointFile]) -> str:
    """Say what checkpoints hold; a part of something says that it is one."""
    parts = next((state.sharded for file in files for state in file.state_dicts if state.sharded), "")
    besides = f"; it is {parts}" if parts else ""
    if len(files) != 1:
        return f"Nothing wrong in {len(files)} checkpoints{besides}."
    states = files[0].state_dicts
    keys = sum(len(state.keys) for state in states)
    held = f"{count(keys, 'tensor')} in {count(len(states), 'state dict')}" if keys else "no state dict"
    return f"Nothing wrong: {held}{besides}."


def _proven(proofs: list[Proof]) -> Verdict:
    """Say what a run of reproductions and training modes, without any check, comes to."""
    trained = [proof.id for proof in proofs if proof.held and proof.broken is None]
    proven = [proof.id for proof in proofs if proof.held and proof.broken is not None]
    idle = [f"{proof.id} ({proof.reason})" for proof in proofs if not proof.held]
    if len(proofs) > MOST_NAMED:
        why = Counter(proof.reason for proof in proofs if not proof.held)
        proven = [f"{count(len(proven), 'failure')} and their fixes"] if proven else []
        idle = [f"{number} ({reason})" for reason, number in why.most_common()]
    groups = (("It trains", trained), ("Proven", proven), ("Not run", idle))
    sentence = " ".join(f"{words}: {', '.join(names)}." for words, names in groups if names)
    return Verdict(status=Status.HEALTHY if trained or proven else Status.UNKNOWN, sentence=sentence)


def exit_code(report: Report, fail_on: str) -> int:
    """Return the exit code: 1 for findings at or above `fail_on`, 3 where it could not be told, else 0.

    `fail_on` is ``error``, ``warning`` or ``never``.
    """
    worst = report.worst()
    bound = {"error": [Severity.ERROR], "warning": [Severity.ERROR, Severity.WARNING], "never": []}[fail_on]
    failed = any(not p.held and p.fixed is not ProofStatus.NOT_RUN for p in report.proofs)
    if worst in bound or (fail_on != "never" and (failed or report.verdict.status is Status.BROKEN)):
        return FINDINGS
    crashed = any(True for _ in report.with_status(CheckStatus.CRASHED))
    asked = [p for p in report.probes if p.status is not ProbeStatus.SKIPPED]
    snapshot = Snapshot(report.facts)
    timed = snapshot.get(Scaling) is not None
    looked = report.checks or report.proofs or report.findings or snapshot.read or timed or not asked
    idle = report.proofs and all(p.fixed is ProofStatus.NOT_RUN for p in report.proofs) and not report.checks
    middle = any(log.middle for log in snapshot.all(Log)) and not report.findings
    if (
        crashed
        or idle
        or (_blind(report) and not report.findings)
        or middle
        or not looked
        or (asked and all(p.status is not ProbeStatus.OK for p in asked))
    ):
        return COULD_NOT
    return 0
