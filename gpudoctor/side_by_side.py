"""Reproductions run side by side, as many at a time as there are processors; what shares something runs alone."""

import os
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from gpudoctor.child import Child, adopt_orphans, run
from gpudoctor.fork import may_fork
from gpudoctor.report import Proof, Say
from gpudoctor.scripts import HEADER

MOST_WORKERS = 4
SHARED = re.compile(r"\b[1-6]\d{4}\b|MASTER_PORT")
"""A port of its own choice, which another script may choose too."""
LAUNCHER = re.compile(r"torchrun|torch\.distributed\.(?:run|launch)")
ALONE = frozenset({"root", "namespaces", "control groups", "setsid", "ip", "slurmctld", "slurmd", "munged"})
"""Needs of scripts that change what others see: the machine's names, its limits, its jobs."""
REAL_GPUS = re.compile(r"\d+ GPUs?")
Prove = Callable[[str], Proof]
_Line = tuple[str, Proof | None]
"""An id, and its proof; ``None`` where its turn begins."""


def run_alone(reproduction: Path) -> bool:
    """Return whether a reproduction must not run beside another one: it needs a GPU, root or a port that it names."""
    text = (reproduction / "broken.py").read_text(encoding="utf-8")
    headers = HEADER.findall(text)
    needs = {value for key, value in headers if key == "needs"}
    line = next((value for key, value in headers if key == "run"), "")
    takes_a_port = SHARED.search(text) or (LAUNCHER.search(line) and "--standalone" not in line)
    return bool(needs & ALONE or any(map(REAL_GPUS.fullmatch, needs)) or takes_a_port)


def proofs_side_by_side(
    ids: Sequence[str], prove: Prove, weight: Callable[[str], int], patience: float, say: Say
) -> dict[str, Proof]:
    """Let forks of this process prove failures, and return the proofs by id.

    `weight` says how much work an id is, `patience` how many seconds one may take. One that has no proof in the end
    kept its process from going on, or no process could be had: it is left to the caller.
    """
    count = min(len(os.sched_getaffinity(0)), MOST_WORKERS, len(ids)) if may_fork() else 0
    if count < 2:
        return {}
    found: dict[str, Proof] = {}

    def say_how_far(id: str) -> None:
        say(f"{len(found)} of {len(ids)}, {count} at a time: {id}")

    run([_worker(part, prove, patience, found, say_how_far) for part in _parts(ids, weight, count)])
    return found


def _parts(ids: Sequence[str], weight: Callable[[str], int], count: int) -> list[list[str]]:
    """Share ids out, the heaviest first, each to the one who has the least."""
    parts: list[list[str]] = [[] for _ in range(count)]
    loads = [0] * count
    for id in sorted(ids, key=weight, reverse=True):
        least = loads.index(min(loads))
        parts[least].append(id)
        loads[least] += weight(id)
    return parts


def _worker(
    ids: list[str], prove: Prove, patience: float, found: dict[str, Proof], say: Callable[[str], None]
) -> Child:
    """Return a process that proves its share of the failures one after the other."""

    def work() -> None:
        adopt_orphans()
        for id in ids:
            _tell((id, None))
            _tell((id, prove(id)))

    def hear(line: bytes) -> None:
        id, proof = msgspec.json.decode(line, type=_Line)
        child.deadline = child.running + patience
        if proof is None:
            say(id)
        else:
            found[id] = proof

    child = Child(
        "reproductions", [sys.executable, "-c", "raise SystemExit(1)"], patience, hear, function=work
    )
    return child


def _tell(line: _Line) -> None:
    data = msgspec.json.encode(line) + b"\n"
    while data:
        data = data[os.write(1, data) :]
