"""Run the probes at once, each in its own process group with a deadline, and gather a snapshot."""

import functools
from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from gpudoctor.child import Child, run
from gpudoctor.facts import Silence
from gpudoctor.interpreter import Patient
from gpudoctor.patient_process import Garbled, Message, answer, asking, own_probe
from gpudoctor.probes.__main__ import main as run_probe
from gpudoctor.registry import Probe
from gpudoctor.report import ProbeResult, ProbeStatus
from gpudoctor.snapshot import Snapshot

SPEECHLESS = 15.0
"""Seconds within which an interpreter must have said something: one that starts from a slow network disk takes few."""

Progress = Callable[[dict[str, str]], None]
"""Told now and then which probes still run, and what each is doing."""


class _Asked:
    """A probe that was started: its child process and what it told."""

    def __init__(self, probe: Probe, patient: Patient, timeout: float | None) -> None:
        self.probe = probe
        self.facts: dict[str, msgspec.Struct] = {}
        self.doing = ""
        self.failed: str | None = None
        command = asking(patient, probe.script, *probe.arguments) if probe.script else own_probe(probe.module)
        self.deadline = probe.deadline if timeout is None else min(timeout, probe.deadline)
        own = None if probe.script else functools.partial(run_probe, probe.module)
        self.child = Child(probe.name, command, self.deadline, self.hear, speechless=SPEECHLESS, function=own)

    def hear(self, line: bytes) -> None:
        """Take one line of output; lines without the mark are somebody else's."""
        if self.failed:
            return
        try:
            message = answer(line, Message)
            if message is None:
                return
            if "doing" in message:
                self.doing = str(message["doing"])
                # What may hang in the driver has a shorter deadline of its own: {"doing": ..., "seconds": 10}.
                own = self.child.running + float(message.get("seconds") or self.deadline)
                self.child.deadline = min(self.deadline, own)
            elif "failed" in message:
                self.failed = str(message["failed"])
            elif message.get("topic") in self.probe.topics:
                topic = message["topic"]
                self.facts[topic] = msgspec.convert(message["facts"], self.probe.topics[topic])
        except (Garbled, ValueError, RecursionError, KeyError, TypeError) as error:
            self.failed = f"its answer cannot be read: {error}"

    @property
    def silence(self) -> Silence | None:
        """How the patient kept silent: nothing that it said could be understood."""
        if self.facts or self.doing or self.failed:
            return None
        how = self.child.end or "it ended without an answer"
        return Silence(
            executable=self.child.command[0],
            how=how,
            said=self.child.last_words[:500],
            started=self.child.refused is None,
        )

    def result(self, topic: str) -> ProbeResult:
        """Say what became of it, and note in facts that were cut short how that came."""
        end = self.child.end
        if end is None and not self.failed and self.doing not in ("", "done"):
            end = "ended before it was done"  # import torch called os._exit(0), for one
        during = f" during {self.doing}" if self.doing and end else ""
        last_words = [self.child.last_words] if self.child.last_words else []
        if self.child.timed_out:
            status, reason = ProbeStatus.TIMEOUT, f"{end}{during}"
        elif end:
            status, reason = ProbeStatus.CRASHED, ": ".join([f"{end}{during}", *last_words])[:500]
        elif self.failed:
            status, reason = ProbeStatus.FAILED, self.failed
        elif topic not in self.facts:
            status, reason = ProbeStatus.FAILED, ": ".join(["it gave no answer", *last_words])[:500]
        else:
            status, reason = ProbeStatus.OK, None
        if end and topic in self.facts and "interrupted" in self.facts[topic].__struct_fields__:
            self.facts[topic] = replace(self.facts[topic], interrupted=end)
        return ProbeResult(name=topic, status=status, reason=reason, seconds=self.child.seconds)


def collect(
    probes: Iterable[Probe],
    patient: Patient,
    timeout: float | None = None,
    progress: Progress | None = None,
) -> Snapshot:
    """Ask every probe and return what was learnt; a run costs its slowest probe, not the sum.

    `timeout`, in seconds, lowers the deadline of each probe. Never raises for what a probe does.
    """
    asked = [_Asked(probe, patient, timeout) for probe in probes]
    # What runs longest starts first: the patient's scripts.
    order = sorted(asked, key=lambda a: -a.child.deadline)

    def tick(running: list[Child]) -> None:
        if progress is not None:
            progress({a.probe.name: a.doing for a in asked if a.child in running})

    run([a.child for a in order], tick)
    snapshot = Snapshot()
    for one in asked:
        for topic in one.probe.topics:
            snapshot.probes.append(one.result(topic))
        snapshot.facts.update(one.facts)
    silence = next((one.silence for one in asked if one.probe.name == "python"), None)
    if silence is not None:
        snapshot.facts["silence"] = silence
    if "python" in snapshot.facts:  # why this interpreter is the patient, it cannot know
        told = snapshot.facts["python"]
        snapshot.facts["python"] = replace(told, chosen=patient.chosen, by_default=patient.by_default)
    return snapshot
