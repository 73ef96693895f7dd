"""Run the probes at once, each in its own process group with a deadline, and gather a snapshot."""

import functools
from collections.abc import Callable, Iterable

import msgspec
from msgspec.structs import replace

from gpudoctor.child import Child, run
from gpudoctor.facts import Silence
from gpudoctor.interpreter import Patient
from gpudoctor.patient_process import Conversation, Message, asking, own_probe
from gpudoctor.probes.__main__ import main as run_probe
from gpudoctor.registry import Probe
from gpudoctor.report import ProbeResult, ProbeStatus
from gpudoctor.snapshot import Snapshot

SPEECHLESS = 15.0
"""Seconds within which an interpreter must have said something: one that starts from a slow network disk takes few."""

Progress = Callable[[dict[str, str]], None]
"""Told now and then which probes still run, and what each is doing."""


class _Asked:
    """A probe that was started, and the facts that it told."""

    def __init__(self, probe: Probe, patient: Patient, timeout: float | None) -> None:
        self.probe = probe
        self.facts: dict[str, msgspec.Struct] = {}
        command = asking(patient, probe.script, *probe.arguments) if probe.script else own_probe(probe.module)
        deadline = probe.deadline if timeout is None else min(timeout, probe.deadline)
        own = None if probe.script else functools.partial(run_probe, probe.module)
        self.child = Child(probe.name, command, deadline, speechless=SPEECHLESS, function=own)
        self.conversation = Conversation(self.child, self.take)

    def take(self, message: Message) -> None:
        """Keep the facts that a message tells."""
        topic = message.get("topic")
        if topic in self.probe.topics:
            self.facts[topic] = msgspec.convert(message["facts"], self.probe.topics[topic])

    @property
    def silence(self) -> Silence | None:
        """How the patient kept silent: nothing that it said could be understood."""
        if self.conversation.told or self.conversation.garbled:
            return None
        return Silence(
            executable=self.child.command[0],
            how=self.child.end or "it ended without an answer",
            said=self.child.last_words[:500],
            started=self.child.refused is None,
        )

    def result(self, topic: str) -> ProbeResult:
        """Say what became of it, and note in facts that were cut short how that came."""
        end, reason = self.conversation.end, self.conversation.why
        if self.child.timed_out:
            status = ProbeStatus.TIMEOUT
        elif end and not self.conversation.failed:
            status = ProbeStatus.CRASHED
        elif reason or topic not in self.facts:
            status, reason = ProbeStatus.FAILED, reason or "it gave no answer"
        else:
            status = ProbeStatus.OK
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
            progress({a.probe.name: a.conversation.doing for a in asked if a.child in running})

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
