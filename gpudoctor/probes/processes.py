"""Look through /proc for ranks, for what is stuck, and for what the dead left in shared memory.

Of another user's process the kernel shows name and state alone; what cannot be read is not known, and no fault.
"""

import os
import re
import time
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from gpudoctor.facts import Process, Processes
from gpudoctor.probes._files import number, text
from gpudoctor.probes._proc import Entry, entries, environment, open_files
from gpudoctor.probes._shared_memory import abandoned

# torch names its processes and threads pt_main_thread, pt_elastic, pt_data_worker and the like (torch.multiprocessing).
PYTHON = re.compile(r"python[\d.]*|pt_\w+|torchrun|accelerate|deepspeed|ray::.*")
STUCK = re.compile(rf"{PYTHON.pattern}|nvidia.*|nv[_-].*")
# What starts ranks, and outlives them where all is well.
LAUNCHER = re.compile(
    rf"{PYTHON.pattern}|mpirun|mpiexec|orted|prte.*|hydra.*|slurmstepd|srun|ray.*|horovodrun"
)
PAUSE = 1.0
"""Seconds between two looks: a process that only waits for a disk does something meanwhile."""


def probe(root: Path = Path("/")) -> Processes:
    """Look at the processes below `root`, twice where one seems stuck."""
    known = {entry.pid: entry for entry in entries(root)}
    own = _own(known)
    stuck = [e for e in known.values() if e.state == "D" and STUCK.fullmatch(e.name)]
    # What gpudoctor descends from collects its children when it gets to it, and so does another gpudoctor: of a node's
    # ranks each may run one.
    ended = [
        e
        for e in known.values()
        if e.state == "Z" and _python(e) and e.parent not in own and not _examines(root, e.parent)
    ]
    if stuck or ended:
        before = {e.pid: _switches(root, e.pid) for e in stuck}
        time.sleep(PAUSE)
        after = {e.pid: e for e in entries(root, {e.pid for e in (*stuck, *ended)})}
        stuck = [e for e in stuck if _same(e, after.get(e.pid)) and _switches(root, e.pid) == before[e.pid]]
        ended = [e for e in ended if _same(e, after.get(e.pid))]
    user = os.geteuid()
    mine = [e for e in known.values() if e.user == user]
    return Processes(
        stuck=[replace(_told(e, known), waits_in=_waits_in(root, e.pid)) for e in stuck],
        zombies=[_told(e, known) for e in ended],
        ranks=list(_ranks(root, known, own)),
        user_threads=sum(e.threads for e in mine) if mine else None,
        segments=abandoned(root, known.values()),
    )


def _examines(root: Path, pid: int) -> bool:
    """Return whether a process is gpudoctor."""
    words = text(root / f"proc/{pid}/cmdline").split("\0")
    return any(word == "gpudoctor" or word.endswith("/gpudoctor") for word in words[:4])


def _python(entry: Entry) -> bool:
    return PYTHON.fullmatch(entry.name) is not None


def _same(first: Entry, second: Entry | None) -> bool:
    return second is not None and (first.started, first.state) == (second.started, second.state)


def _switches(root: Path, pid: int) -> tuple[str, ...]:
    """Return how often a process was put on a processor: a number that stands still is a process that does."""
    return tuple(line for line in text(root / f"proc/{pid}/status").splitlines() if "ctxt_switches" in line)


def _waits_in(root: Path, pid: int) -> str:
    where = text(root / f"proc/{pid}/wchan")
    return "" if where == "0" else where


def _own(known: dict[int, Entry]) -> set[int]:
    """Return this process, those that it descends from, and its session."""
    own, pid = set(), os.getpid()
    while pid in known and pid not in own and pid != 1:
        own.add(pid)
        pid = known[pid].parent
    return own


def _told(entry: Entry, known: dict[int, Entry]) -> Process:
    parent = known.get(entry.parent)
    return Process(
        pid=entry.pid,
        name=entry.name,
        state=entry.state,
        parent=entry.parent,
        parent_name=parent.name if parent else "",
        age_seconds=entry.age_seconds,
        threads=entry.threads,
        same_user=entry.user == os.geteuid(),
    )


def _ranks(root: Path, known: dict[int, Entry], own: set[int]) -> Iterable[Process]:
    """Yield the Python processes that are ranks, or hold a GPU; of other users' neither can be seen."""
    for entry in known.values():
        if entry.state == "Z" or not (_python(entry) or _runs_python(root, entry)):
            continue
        variables = environment(root, entry.pid)
        devices = _devices(root, entry.pid)
        is_rank = "RANK" in variables or "LOCAL_RANK" in variables
        if not (is_rank or devices):
            continue
        yield replace(
            _told(entry, known),
            own=_belongs(entry, known, own),
            rank=variables.get("RANK"),
            local_rank=variables.get("LOCAL_RANK"),
            master_port=variables.get("MASTER_PORT"),
            orphaned=_orphaned(root, entry, known, variables),
            devices=devices,
        )


def _runs_python(root: Path, entry: Entry) -> bool:
    """Return whether a script that bears a name of its own runs under Python; of this user's processes alone."""
    if entry.user != os.geteuid():
        return False
    try:
        return Path(os.readlink(root / f"proc/{entry.pid}/exe")).name.startswith("python")
    except OSError:
        return False


def _belongs(entry: Entry, known: dict[int, Entry], own: set[int]) -> bool:
    """Return whether a process is of the launch that gpudoctor runs in: one of them started it, or its parent."""
    if entry.pid in own:
        return True
    parent = known.get(entry.parent)
    return parent is not None and parent.pid in own and parent.pid != 1


def _orphaned(root: Path, entry: Entry, known: dict[int, Entry], variables: dict[str, str]) -> bool:
    """Return whether what started a rank is gone, so that init or the user's systemd has taken it over."""
    parent = known.get(entry.parent)
    if parent is None or LAUNCHER.fullmatch(parent.name):
        return False  # started, or adopted, by something that looks after it
    command = text(root / f"proc/{entry.pid}/cmdline").split("\0")
    if spawned := re.search(r"parent_pid=(\d+)", " ".join(command)):  # multiprocessing.spawn
        return int(spawned[1]) not in known
    if "TORCHELASTIC_RUN_ID" in variables:
        # A rank of torchrun's is a child of it; a program that a rank starts has that rank for its parent.
        return entry.parent == 1 or parent.name == "systemd"
    leader = known.get(entry.session)
    return "RANK" in variables and entry.parent == 1 and leader is None


def _devices(root: Path, pid: int) -> list[str]:
    """Return the GPUs that a process has open."""
    found = {path for path in open_files(root, pid) if re.fullmatch(r"/dev/nvidia\d+", path)}
    return sorted(found, key=lambda path: number(path.removeprefix("/dev/nvidia")) or 0)
