"""How the time of a step changes with the number of devices and with the mode."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from gpudoctor.bad_input import BadInput
from gpudoctor.collect import collect
from gpudoctor.facts import Names
from gpudoctor.facts.scaling import Scaling, ScalingRun
from gpudoctor.interpreter import Patient, choose_patient
from gpudoctor.patient_process import Message
from gpudoctor.proving.training import DEADLINE, train
from gpudoctor.proving.training_script import DEFAULT, GROUND, LAUNCHED, MODES, Choice
from gpudoctor.registry import Registry
from gpudoctor.report import Proof, Report, Say
from gpudoctor.snapshot import Snapshot
from gpudoctor.verdict import conclude

STEPS = 30
"""Steps whose median is taken, behind five that warm up."""
PARTS = ("data", "forward", "backward", "communication", "update")


def scale(
    mode: str,
    devices: Sequence[int] = (),
    *,
    strategies: Sequence[str] = (),
    python: str | None = None,
    choice: Choice = DEFAULT,
    checks: Registry | Iterable[Path] = (),
    timeout: float | None = None,
    steps: int = STEPS,
    say: Say = lambda doing: None,
) -> Report:
    """Time the steps of a mode, and of those of `strategies`, on numbers of devices, two by default.

    All have the global batch of `choice`; ``single`` on one device is measured first in any case. A run that fails
    is in the report as a proof that did not hold. `python` names the patient; `timeout`, in seconds, is each run's.
    Raises `BadInput`.

        >>> gpudoctor.scale("ddp", [1, 2, 4]).facts["scaling"].runs
    """
    runs = asked_runs(mode, devices, strategies)
    registry = Registry.of(checks)
    patient = choose_patient(python)
    say("what this machine and this Python have")
    asked = collect([probe for probe in registry.probes if probe.name in GROUND], patient)
    report = Report(command="repro", probes=asked.probes, facts=dict(asked.facts))
    names = Snapshot(asked.facts, asked.probes).get(Names)
    nameless = names is not None and names.own.error is not None
    measured: list[ScalingRun] = []
    about: Message = {}
    for name, number in dict.fromkeys([("single", 1), *runs]):
        say(f"{name} on {number}")
        proof, told = _timed(name, number, patient, nameless, choice, steps, timeout or DEADLINE)
        measured.append(_run(name, number, proof, told))
        about |= told
        if not proof.held:
            report.proofs.append(proof)
    report.facts["scaling"] = _scaling(measured, about)
    return conclude(report)


def _scaling(measured: Sequence[ScalingRun], about: Message) -> Scaling:
    return Scaling(
        runs=tuple(measured),
        batch=int(about.get("batch", 0)),
        model=str(about.get("model", "")),
        data=str(about.get("data", "")),
        on=str(about.get("device", "")),
        processors=len(os.sched_getaffinity(0)),
    )


def asked_runs(mode: str, devices: Sequence[int], strategies: Sequence[str]) -> list[tuple[str, int]]:
    """Return the runs that are to be timed, as mode and devices; raises `BadInput` for what is no mode."""
    if mode not in MODES:
        raise BadInput("--scale and --strategies time the steps of a training mode")
    for name in strategies:
        if name not in MODES:
            raise BadInput(f"{name!r} is no mode; modes are {', '.join(MODES)}")
    if devices and {mode, *strategies} == {"single"}:
        raise BadInput("single has one device: --scale takes another mode")
    modes = dict.fromkeys([mode, *strategies])
    runs = [(name, number) for name in modes if name != "single" for number in devices or (2,)]
    # A mode of one process on one device is the bare network; those with ranks run their own way with one, too.
    return [(name, number) for name, number in runs if name in LAUNCHED or number > 1]


def _timed(
    mode: str,
    devices: int,
    patient: Patient,
    nameless: bool,
    choice: Choice,
    steps: int,
    deadline: float,
) -> tuple[Proof, Message]:
    """Run a mode that times its steps; return how that ended, and what it told of them."""
    told: Message = {}
    proof = train(
        mode,
        patient,
        nproc=devices,
        nameless=nameless,
        choice=choice,
        options=["--measure", str(steps)],
        deadline=deadline,
        on_event=lambda event: told.update(event) if event["event"] == "measured" else None,
    )
    return proof, told


def _run(mode: str, devices: int, proof: Proof, told: Message) -> ScalingRun:
    parts = told.get("parts")
    if not proof.held or not isinstance(parts, dict):
        return ScalingRun(mode=mode, devices=devices, failure=proof.reason or "it told no times")
    times = {name: float(parts[name]) for name in PARTS}
    return msgspec.convert({"mode": mode, "devices": devices, **times}, ScalingRun)
