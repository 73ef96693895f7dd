"""Prove: run training modes and reproductions under the patient, and say what that comes to."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gpudoctor.bad_input import BadInput
from gpudoctor.collect import collect
from gpudoctor.facts import Gpus, Launch, Names
from gpudoctor.interpreter import Patient, choose_patient
from gpudoctor.model import Source
from gpudoctor.proving.training_script import DEFAULT, GROUND, LAUNCHED, MODES, Choice
from gpudoctor.proving.warm_patient import suits, warm
from gpudoctor.registry import Registry, Unknown
from gpudoctor.report import Proof, Report, Say
from gpudoctor.snapshot import Snapshot
from gpudoctor.verdict import conclude

NEEDS = ("python", "torch", "driver")
"""Probes that tell what the scripts of reproductions may need."""
SLACK = 10.0
"""Seconds for a reproduction beyond its scripts' deadlines, each of which may run twice."""
Event = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class Bench:
    """Where proofs are made: the patient, what is known of the machine, and who is told of the progress."""

    registry: Registry
    patient: Patient
    snapshot: Snapshot
    nproc: int | None
    choice: Choice
    timeout: float | None
    say: Say
    on_event: Event
    warm: Patient | None = None
    """The patient with torch imported already, where many scripts are run."""

    def train(self, mode: str) -> Proof:
        """Train in one mode; raises `BadInput` for data that cannot be used."""
        from gpudoctor.proving.training import DEADLINE, train

        ranks = self.nproc or (default_ranks(self.snapshot) if mode in LAUNCHED else None)
        names = self.snapshot.get(Names)
        return train(
            mode,
            self.patient,
            nproc=ranks,
            nameless=names is not None and names.own.error is not None,
            choice=self.choice,
            deadline=self.timeout or DEADLINE,
            on_event=self.on_event,
        )

    def reproduce(self, ids: Sequence[str]) -> list[Proof]:
        """Run reproductions, several at a time where they do not disturb each other.

        The facts tell which of them can run here.
        """
        if len(ids) < 2:
            return [self.reproduced(id) for id in ids]
        with warm(self.patient) as forking:
            return replace(self, warm=forking)._side_by_side(ids)

    def _side_by_side(self, ids: Sequence[str]) -> list[Proof]:
        """Run many reproductions; those that wait for each other leave a processor to others."""
        from gpudoctor.proving.reproduction import DEADLINE
        from gpudoctor.proving.side_by_side import Company, company, proofs_side_by_side

        beside = {id: company(scripts_of(self.registry, id)) for id in ids}
        together = [id for id in ids if beside[id] is Company.ANY]
        in_turn = [id for id in ids if beside[id] is Company.NOT_ITS_LIKE]
        patience = 4 * (self.timeout or DEADLINE) + SLACK
        quiet = replace(self, say=lambda doing: None)  # what they print is their answer
        each = 2 if self.warm else 1
        done = proofs_side_by_side(together, quiet.reproduced, self.weight, patience, self.say, in_turn, each)
        return [done.get(id) or self.reproduced(id, f"{n}/{len(ids)} ") for n, id in enumerate(ids, 1)]

    def reproduced(self, id: str, place: str = "") -> Proof:
        """Run one reproduction; `place` is where it stands among several.

        What does not hold in forks of a Python that has imported torch is run again as its run line says.
        """
        if self.warm is not None and suits(scripts_of(self.registry, id)):
            proof = self._reproduced(id, self.warm, place)
            if proof.held:
                return proof
        return self._reproduced(id, self.patient, place)

    def _reproduced(self, id: str, patient: Patient, place: str) -> Proof:
        from gpudoctor.proving.reproduction import DEADLINE, reproduce

        return reproduce(
            self.registry.check(id),
            scripts_of(self.registry, id),
            patient,
            self.snapshot,
            deadline=self.timeout or DEADLINE,
            on_script=lambda name: self.say(f"{place}{id}: {name}"),
        )

    def weight(self, id: str) -> int:
        """Return about how many seconds a reproduction takes: most of it imports torch, or waits for another host."""
        reproduction = scripts_of(self.registry, id)
        text = (reproduction / "broken.py").read_text(encoding="utf-8")
        if "# needs: namespaces" in text:
            return 30
        forked = self.warm is not None and suits(reproduction)
        return (1 if forked else 4) * (3 if "torchrun" in text else 1)

    def prove(self, what: str) -> list[Proof]:
        """Train in a mode, or run a reproduction, or all of them."""
        if what in MODES:
            return [self.train(what)]
        return self.reproduce(reproducible(self.registry) if what == "all" else [what])


def prove(
    what: str,
    *,
    python: str | None = None,
    nproc: int | None = None,
    choice: Choice = DEFAULT,
    checks: Registry | Iterable[Path] = (),
    timeout: float | None = None,
    report: Report | None = None,
    say: Say = lambda doing: None,
    on_event: Event = lambda event: None,
) -> Report:
    """Really train in a mode (``single``, ``ddp`` ...), or prove a failure and its fix by its id, or ``all``.

    `python` names the patient, `nproc` the ranks or devices (one per GPU, without a GPU two), `choice` what is trained,
    `checks` folders of local check files. `timeout`, in seconds, is each script's. The proofs are added to
    `report`, such as one of `check`, which knows the machine already. `say` is told what is being done, `on_event` what
    a training tells of itself. Raises `BadInput`.

        >>> gpudoctor.prove("ddp").proofs[0].held
    """
    registry = Registry.of(checks)
    refuse_unknown(registry, what)
    patient = choose_patient(python)
    if report is None:
        # Nothing is said yet: the line on a terminal has a thread, beside which no process is forked.
        names = GROUND if what in MODES else NEEDS
        asked = collect([p for p in registry.probes if p.name in names], patient)
        report = Report(command="repro", probes=asked.probes, facts=asked.facts)
    snapshot = Snapshot(report.facts, report.probes)
    bench = Bench(registry, patient, snapshot, nproc, choice, timeout, say, on_event)
    return _with(report, bench.prove(what), registry)


def _with(report: Report, proofs: Sequence[Proof], registry: Registry) -> Report:
    """Return a report with proofs, with what is known of what failed trainings printed, and with its verdict."""
    from gpudoctor.logs.corroboration import corroborate
    from gpudoctor.logs.explain import explain_lines
    from gpudoctor.logs.lines import read_text

    report.proofs += proofs
    for proof in proofs:
        if proof.broken is None and proof.error:
            lines = read_text(proof.error, f"repro {proof.id}")
            said = explain_lines(lines, registry, source=Source.REPRODUCTION)
            said.facts = {}  # a script's last words are no log that was read
            said.command = report.command
            report = corroborate(said, report, registry)
    return conclude(report, registry)


def refuse_unknown(registry: Registry, what: str) -> None:
    """Refuse what is neither a mode nor a check with a reproduction; raises `BadInput`."""
    if what in MODES or what == "all":
        return
    try:
        registry.check(what)
    except Unknown as error:
        raise BadInput(f"{error}; modes are {', '.join(MODES)}") from None
    scripts_of(registry, what)


def scripts_of(registry: Registry, id: str) -> Path:
    """Return the folder with ``broken.py`` and ``fixed.py`` of a check; raises `BadInput` where it has none."""
    folder = registry.reproduction(id)
    if folder is None:
        why = registry.check(id).no_reproduction
        raise BadInput(f"{id} has no reproduction" + (f": {why}" if why else ""))
    return folder


def reproducible(registry: Registry) -> list[str]:
    """Return the ids of all checks that have a reproduction."""
    return [id for id in registry.modules if registry.reproduction(id)]


def default_ranks(snapshot: Snapshot) -> int:
    """Return the number of GPUs that a rank can have for itself, or 2 without any."""
    gpus, launch = snapshot.get(Gpus), snapshot.get(Launch)
    if gpus is None or not gpus.devices:
        return 2
    visible = launch.variables.get("CUDA_VISIBLE_DEVICES") if launch else None
    if visible is None:
        return len(gpus.devices)
    return min(len([v for v in visible.split(",") if v.strip() not in ("", "-1")]), len(gpus.devices)) or 2
