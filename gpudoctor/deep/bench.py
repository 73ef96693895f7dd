"""Where measuring processes run: the patient, and the time that is left."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from gpudoctor.child import Child, run
from gpudoctor.interpreter import Patient
from gpudoctor.patient_process import SCRIPTS, Conversation, asking, own_probe, surroundings
from gpudoctor.report import Say

GRACE = 3.0
"""Seconds that the other ranks get to end, once one has failed."""
LEAST = 2.0
"""Seconds without which nothing is begun any more."""


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
    ) -> Conversation:
        """Prepare a script of the patient's; nothing of a launch that gpudoctor was started in is handed on to it."""
        command = asking(self.patient, SCRIPTS / script, msgspec.json.encode(request).decode())
        environment = {**surroundings(self.folder, launch=False), **variables}
        return Conversation(Child(what, command, self.patience(seconds), environment=environment))

    def own(self, what: str, module: str, seconds: float) -> Conversation:
        """Prepare a measurement that needs no torch: a module with a function ``probe``."""
        environment = surroundings(self.folder, launch=True)
        return Conversation(Child(what, own_probe(module), self.patience(seconds), environment=environment))

    def run(self, measurings: Iterable[Conversation], *, ranks: bool = False) -> None:
        """Run processes side by side; where they are ranks of one group, a failed one ends the others soon."""
        measurings = list(measurings)

        def tick(running: list[Child]) -> None:
            still = [m for m in measurings if m.child in running]
            shown = ", ".join(f"{m.child.name}: {m.doing}" if m.doing else m.child.name for m in still[:3])
            self.say(f"measuring {shown}" + (" ..." if len(still) > 3 else ""))
            if ranks and any(m.child not in running and m.why for m in measurings):
                for other in still:
                    other.end_within(GRACE)

        run([m.child for m in measurings], tick)
