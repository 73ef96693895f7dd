"""How code reaches the patient's interpreter, and how it answers: one command, one kind of line.

A script tells each thing in a line of its own, ``gpudoctor {"topic": "torch", "facts": {...}}``; whatever else stands
on its output is somebody else's. A training script, which people run by hand too, leaves the mark out:
``{"event": ...}``.
"""

import os
import re
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from gpudoctor.interpreter import Patient

T = TypeVar("T")

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


Message = dict[str, Any]
