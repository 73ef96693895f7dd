"""Reproductions run side by side; those that would disturb each other one after the other, on a GPU nothing beside."""

import contextlib
import os
import re
import struct
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import msgspec

from gpudoctor.child import Child, adopt_orphans, run
from gpudoctor.fork import ONLY_FORKED, may_fork, tell
from gpudoctor.proving.scripts import HEADER
from gpudoctor.report import Proof, Say

MOST_WORKERS = 8
SHARED = re.compile(r"\b[1-6]\d{4}\b|MASTER_PORT")
"""A port of its own choice, which another script may choose too."""
LAUNCHER = re.compile(r"torchrun|torch\.distributed\.(?:run|launch)")
OWN_HOSTS = "namespaces"
"""Need of scripts with a network, names or mounts of their own: their ports are nobody else's."""
MACHINE_WIDE = frozenset({"control groups", "slurmctld", "slurmd", "munged"})
"""Needs of scripts that make limits or jobs, of which two at once may meet."""
REAL_GPUS = re.compile(r"\d+ GPUs?")
Prove = Callable[[str], Proof]
_Line = tuple[str, Proof | None]
"""An id, and its proof; ``None`` where its turn begins."""
_NUMBER = struct.Struct("H")
"""The place of an id in a list, in the pipe from which processes take the next one."""


class Company(Enum):
    """Beside what a reproduction may run."""

    ANY = "any other"
    NOT_ITS_LIKE = "none that takes a port of its own choice, or makes a control group or a job, as it does"
    NONE = "none: it needs a GPU, and its memory"


def company(reproduction: Path) -> Company:
    """Return beside what a reproduction may run."""
    text = (reproduction / "broken.py").read_text(encoding="utf-8")
    headers = HEADER.findall(text)
    needs = {value for key, value in headers if key == "needs"}
    line = next((value for key, value in headers if key == "run"), "")
    if any(map(REAL_GPUS.fullmatch, needs)):
        return Company.NONE
    takes_a_port = SHARED.search(text) or (LAUNCHER.search(line) and "--standalone" not in line)
    meets = takes_a_port and OWN_HOSTS not in needs
    return Company.NOT_ITS_LIKE if meets or needs & MACHINE_WIDE else Company.ANY


def proofs_side_by_side(
    ids: Sequence[str],
    prove: Prove,
    weight: Callable[[str], int],
    patience: float,
    say: Say,
    in_turn: Sequence[str] = (),
    each: int = 1,
) -> dict[str, Proof]:
    """Let forks of this process prove failures, and return the proofs by id.

    There are `each` of them for a processor, and one more for `in_turn`, one after the other. `weight` says how much
    work an id is, the most comes first; `patience` is how many seconds one may take. One that has no proof in the end
    kept its process from going on, or no process could be had: it is left to the caller.
    """
    count = min(len(os.sched_getaffinity(0)) * each, MOST_WORKERS, len(ids)) if may_fork() else 0
    if count < 2:
        return {}
    found: dict[str, Proof] = {}
    several = count + bool(in_turn)

    def say_how_far(id: str) -> None:
        say(f"{len(found)} of {len(ids) + len(in_turn)}, {several} at a time: {id}")

    with _queue(sorted(ids, key=weight, reverse=True)) as shared, _queue(in_turn) as own:
        queues = [shared] * count + [own] * bool(in_turn)
        run([_worker(queue, prove, patience, found, say_how_far) for queue in queues])
    return found


class _Queue(NamedTuple):
    """Ids, and the pipe from which each process takes the number of the next one."""

    ids: Sequence[str]
    pipe: int


@contextlib.contextmanager
def _queue(ids: Sequence[str]) -> Iterator[_Queue]:
    pipe, end = os.pipe()
    os.write(end, b"".join(map(_NUMBER.pack, range(len(ids)))))
    os.close(end)
    try:
        yield _Queue(ids, pipe)
    finally:
        os.close(pipe)


def _worker(
    queue: _Queue, prove: Prove, patience: float, found: dict[str, Proof], say: Callable[[str], None]
) -> Child:
    """Return a process that proves one failure after the other, while the queue has some."""

    def work() -> None:
        adopt_orphans()
        while number := os.read(queue.pipe, _NUMBER.size):
            id = queue.ids[_NUMBER.unpack(number)[0]]
            tell((id, None))
            tell((id, prove(id)))

    def hear(line: bytes) -> None:
        id, proof = msgspec.json.decode(line, type=_Line)
        child.deadline = child.running + patience
        if proof is None:
            say(id)
        else:
            found[id] = proof

    child = Child("reproductions", ONLY_FORKED, patience, hear, function=work, keep=(queue.pipe,))
    return child
