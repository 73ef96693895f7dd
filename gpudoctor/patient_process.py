"""How code reaches the patient's interpreter, and how it answers: one command, one kind of line.

A script tells each thing in a line of its own, ``gpudoctor {"topic": "torch", "facts": {...}}``; whatever else stands
on its output is somebody else's. A training script, which people run by hand too, leaves the mark out:
``{"event": ...}``.
"""

import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from gpudoctor.child import Child
from gpudoctor.interpreter import Patient

SCRIPTS = Path(__file__).parent / "patient"
"""Where what the patient runs lies."""

T = TypeVar("T")
Message = dict[str, Any]

MARK = re.compile(rb'gpudoctor (?={)|(?={"event")')
# The working folder comes first on the path of `python -c`. The patient must have it there, since a training script
# beside a torch.py has it there too; gpudoctor's own probes must not.
OWN = (
    "import sys; sys.path[:] = [p for p in sys.path if p]; "
    "from gpudoctor.probes.__main__ import main; main(sys.argv[1])"
)
PATIENT = "import sys; exec(compile(open(sys.argv[1], encoding='utf-8').read(), sys.argv[1], 'exec'))"
LAUNCH = re.compile(r"RANK|WORLD_SIZE|(MASTER|LOCAL|GROUP|ROLE|TORCHELASTIC)_\w+")


class Garbled(Exception):
    """A line that bears the mark cannot be read; the text says why."""


def asking(patient: Patient, script: Path, *arguments: str) -> list[str]:
    """Return the command under which the patient runs a script that asks it something.

    -B: what looks at an environment must not leave compiled files in it.
    """
    return [patient.executable, "-B", "-c", PATIENT, str(script), *arguments]


def typed(patient: Patient, script: Path, *arguments: str) -> list[str]:
    """Return the command under which the patient runs a training script of one process, as a user types it."""
    return [patient.executable, str(script), *arguments]


def by_torchrun(patient: Patient, nproc: int, rendezvous: Sequence[str], script: Path) -> list[str]:
    """Return the command under which the patient's torchrun starts `nproc` ranks on this machine.

    Underscores: torchrun of torch 1.13 knows no other spelling.
    """
    return [*patient.torchrun, *rendezvous, f"--nproc_per_node={nproc}", str(script)]


def own_probe(module: str) -> list[str]:
    """Return the command under which gpudoctor's own interpreter runs a probe."""
    return [sys.executable, "-B", "-c", OWN, module]


def launched(line: str, patient: Patient) -> list[str]:
    """Return a command as a user types it, the patient put in the place of ``python`` and ``torchrun``."""
    first, *rest = shlex.split(line)
    if first == "torchrun":
        return [*patient.torchrun, *rest]
    return [patient.executable if first == "python" else first, *rest]


def surroundings(folder: str, *, launch: bool) -> Mapping[str, str]:
    """Return the environment of a script that runs in `folder`; without `launch`, nothing of one is handed on to it.

    What the script leaves behind goes with the folder.
    """
    kept = {name: value for name, value in os.environ.items() if launch or not LAUNCH.fullmatch(name)}
    return {**kept, "TMPDIR": folder}


def answer(line: bytes, kind: type[T]) -> T | None:
    """Return what a line tells, or ``None`` for a line that is somebody else's; raises `Garbled`."""
    mark = MARK.match(line)
    if mark is None:
        return None
    try:
        return msgspec.json.decode(line[mark.end() :], type=kind)
    # A lone surrogate or a broken byte is a ValueError, nesting without end a RecursionError.
    except (ValueError, RecursionError) as error:
        raise Garbled(str(error)) from None


@dataclass
class Conversation:
    """A process that answers in lines of the one kind, and what it has told so far.

    ``{"doing": ...}`` names what is about to be tried, ``"done"`` at the end; with ``"seconds"`` it is waited for no
    longer than that. ``{"failed": ...}`` is why the process itself gave up.
    """

    child: Child
    take: Callable[[Message], None] = lambda message: None
    """Given each message; one that is not as it should be raises `ValueError`, `KeyError` or `TypeError`."""
    aside: Callable[[bytes], None] | None = None
    """Given each line that is no answer, one that cannot be read too: for a script that prints what it likes."""
    told: list[Message] = field(default_factory=list)
    doing: str = ""
    failed: str | None = None
    garbled: str | None = None
    """Why an answer could not be read; nothing is heard after it."""

    def __post_init__(self) -> None:
        self.deadline = self.child.deadline
        self.child.on_line = self.hear

    def hear(self, line: bytes) -> None:
        """Take one line of output; lines without the mark are somebody else's."""
        if self.failed or self.garbled:
            return
        try:
            message = answer(line, Message)
            if message is not None:
                self._take(message)
                return
        except (Garbled, ValueError, RecursionError, KeyError, TypeError) as error:
            if self.aside is None:
                self.garbled = f"its answer cannot be read: {error}"
        if self.aside is not None:
            self.aside(line)

    def _take(self, message: Message) -> None:
        self.told.append(message)
        if "failed" in message:
            self.failed = str(message["failed"])
        if "doing" in message:
            self.doing = str(message["doing"])
            # What may hang in the driver has a shorter deadline of its own: {"doing": ..., "seconds": 10}.
            own = self.child.running + float(message.get("seconds") or self.deadline)
            self.child.deadline = min(self.deadline, own)
        self.take(message)

    def end_within(self, seconds: float) -> None:
        """Wait no longer than `seconds` from now."""
        self.deadline = min(self.deadline, self.child.running + seconds)
        self.child.deadline = min(self.child.deadline, self.deadline)

    def all(self, key: str) -> list[Any]:
        """Return everything that was told under a name, in order."""
        return [message[key] for message in self.told if key in message]

    def last(self, key: str) -> Any:
        """Return what was told last under a name, or ``None``."""
        return next(iter(self.all(key)[-1:]), None)

    @property
    def end(self) -> str | None:
        """How it ended too early, in words; ``None``: it did not."""
        understood = not (self.failed or self.garbled)
        if self.child.end is None and understood and self.doing not in ("", "done"):
            return "ended before it was done"  # import torch called os._exit(0), for one
        return self.child.end

    @property
    def why(self) -> str | None:
        """Why it did not come to its end, with what it was doing and its last words; ``None``: it did."""
        if self.failed:
            return self.failed
        words = [self.child.last_words] if self.child.last_words and not self.child.timed_out else []
        if self.end:
            during = f" during {self.doing}" if self.doing not in ("", "done") else ""
            return ": ".join([self.end + during, *words])[:500]
        if self.garbled or self.told:
            return self.garbled
        return ": ".join(["it gave no answer", *words])[:500]
