"""How the time of a step changes with the number of devices and with the mode."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from gpudoctor.collect import collect
from gpudoctor.facts import Names
from gpudoctor.facts.scaling import Scaling, ScalingRun
from gpudoctor.interpreter import Patient, choose_patient
from gpudoctor.patient_process import Message
from gpudoctor.registry import Registry
from gpudoctor.report import Proof, Report, Say
from gpudoctor.snapshot import Snapshot
from gpudoctor.training import DEADLINE, train
from gpudoctor.training_script import DEFAULT, Choice
from gpudoctor.verdict import conclude

STEPS = 30
"""Steps whose median is taken, behind five that warm up."""
GROUND = ("python", "gpus", "launch", "host", "names")
PARTS = ("data", "forward", "backward", "communication", "update")


def measure_scaling(
    runs: Sequence[tuple[str, int]],
    *,
    python: str | None = None,
    choice: Choice = DEFAULT,
    checks: Registry | Iterable[Path] = (),
    timeout: float | None = None,
    steps: int = STEPS,
    say: Say = lambda doing: None,
) -> Report:
    """Time the steps of modes on numbers of devices, all at the global batch of `choice`.

    `runs` holds the mode and the devices of each run; ``single`` on one is measured first in any case. A run that fails
    is in the report as a proof that did not hold. `timeout`, in seconds, is each run's. Raises `BadInput`.
    """
    registry = Registry.of(checks)
    patient = choose_patient(python)
    say("what this machine and this Python have")
    asked = collect([probe for probe in registry.probes if probe.name in GROUND], patient)
    report = Report(command="repro", probes=asked.probes, facts=dict(asked.facts))
    names = Snapshot(asked.facts, asked.probes).get(Names)
    nameless = names is not None and names.own.error is not None
    measured: list[ScalingRun] = []
    about: Message = {}
    for mode, devices in dict.fromkeys([("single", 1), *runs]):
        say(f"{mode} on {devices}")
        proof, told = _timed(mode, devices, patient, nameless, choice, steps, timeout or DEADLINE)
        measured.append(_run(mode, devices, proof, told))
        about |= told
        if not proof.held:
            report.proofs.append(proof)
    report.facts["scaling"] = Scaling(
        runs=tuple(measured),
        batch=int(about.get("batch", 0)),
        model=str(about.get("model", "")),
        data=str(about.get("data", "")),
        on=str(about.get("device", "")),
        processors=len(os.sched_getaffinity(0)),
    )
    return conclude(report)


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
