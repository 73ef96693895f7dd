"""Where measuring processes run: the patient, the time that is left, and what each process told."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from gpudoctor.child import Child, run
from gpudoctor.interpreter import Patient
from gpudoctor.patient_process import Garbled, Message, answer, asking, own_probe, surroundings
from gpudoctor.report import Say

SCRIPTS = Path(__file__).parent.parent / "patient"
GRACE = 3.0
"""Seconds that the other ranks get to end, once one has failed."""
LEAST = 2.0
"""Seconds without which nothing is begun any more."""


@dataclass
class Measuring:
    """One process that measures, and what it told."""

    what: str
    command: list[str]
    deadline: float
    environment: Mapping[str, str]
    told: list[Message] = field(default_factory=list)
    child: Child = field(init=False)

    def __post_init__(self) -> None:
        self.child = Child(self.what, self.command, self.deadline, self.hear, self.environment)

    def hear(self, line: bytes) -> None:
        """Take one line of output; lines without the mark are somebody else's."""
        try:
            message = answer(line, Message)
        except Garbled:
            return
        if message is not None:
            self.told.append(message)

    def all(self, key: str) -> list[Any]:
        """Return everything that was told under a name, in order."""
        return [message[key] for message in self.told if key in message]

    def last(self, key: str) -> Any:
        """Return what was told last under a name, or ``None``."""
        return next(iter(self.all(key)[-1:]), None)

    @property
    def why(self) -> str | None:
        """Why it did not come to its end, in words; ``None``: it did."""
        if failed := self.last("failed"):
            return str(failed)
        if self.child.end is None:
            return (
                None if self.last("doing") == "done" or self.last("topic") else "it ended before it was done"
            )
        doing = self.last("doing")
        words = self.child.end + (f" during {doing}" if doing else "")
        return f"{words}: {self.child.last_words[:200]}" if self.child.last_words else words


@dataclass
class Bench:
    """Where processes measure, one measurement after another."""

    patient: Patient
    folder: str
    """What a process leaves behind goes with it."""
    ends: float
    """``time.monotonic()`` when all must be over."""
    timeout: float | None
    say: Say

    @property
    def left(self) -> float:
        """Seconds that are left for all that is still to be measured."""
        return self.ends - time.monotonic()

    @property
    def over(self) -> bool:
        """Whether too little time is left to begin anything."""
        return self.left < LEAST

    def patience(self, seconds: float) -> float:
        """Return the deadline of a process that should take no longer than `seconds`."""
        most = min(seconds, self.left, *([self.timeout] if self.timeout is not None else []))
        return max(0.1, round(most, 1))

    def script(
        self, what: str, script: str, request: Mapping[str, Any], seconds: float, **variables: str
    ) -> Measuring:
        """Prepare a script of the patient's; nothing of a launch that gpudoctor was started in is handed on to it."""
        command = asking(self.patient, SCRIPTS / script, msgspec.json.encode(request).decode())
        environment = {**surroundings(self.folder, launch=False), **variables}
        return Measuring(what, command, self.patience(seconds), environment)

    def own(self, what: str, module: str, seconds: float) -> Measuring:
        """Prepare a measurement that needs no torch: a module with a function ``probe``."""
        return Measuring(
            what, own_probe(module), self.patience(seconds), surroundings(self.folder, launch=True)
        )

    def run(self, measurings: Iterable[Measuring], *, ranks: bool = False) -> None:
        """Run processes side by side; where they are ranks of one group, a failed one ends the others soon."""
        measurings = list(measurings)

        def tick(running: list[Child]) -> None:
            doing = {m.what: m.last("doing") for m in measurings if m.child in running}
            shown = ", ".join(f"{what}: {now}" if now else what for what, now in list(doing.items())[:3])
            self.say(f"measuring {shown}" + (" ..." if len(doing) > 3 else ""))
            if ranks and any(m.child not in running and m.why for m in measurings):
                for child in running:
                    child.deadline = min(child.deadline, time.monotonic() - child.begun + GRACE)

        run([m.child for m in measurings], tick)
