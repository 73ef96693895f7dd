"""The processes below a command that runs: which ranks are there, which have gone, and where they stand.

It only reads what the kernel shows of them, and has py-spy read their memory where it is installed and nothing was
printed for long. No process is stopped.
"""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import IO, NamedTuple

from gpudoctor.text import listed
from gpudoctor.thread_stacks import main_thread

EVERY = 2.0
"""Seconds between two looks."""
RECENT = 20.0
"""Seconds over which it is judged whether a process computes."""
RANKS = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "LOCAL_RANK")
"""Variables in which a launcher tells a process its rank; the first that is there counts."""
SPAWNED = b"multiprocessing.spawn import spawn_main"
"""What the command line of a process holds that Python's multiprocessing has spawned."""
FORMS = 2
"""Looks after which a process has become what it was started for: between fork and exec it still seems its parent."""
MOST = 512
"""Processes that are looked at."""
STACKS = 16
"""Processes whose stacks py-spy is asked for."""
TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
BUSY, IDLE = 0.5, 0.1
"""Shares of one processor from which on, and up to which, a rank is said to compute and to wait."""
LAUNCHER = re.compile(rb"(?:^|[/\0])torchrun\0|\0-m\0torch\.distributed\.(?:run|launch)\0")
SEVERAL = re.compile(rb"\0--?nnodes[=\0](?!1\0|1:1\0)")
"""torchrun's command line, and one that waits for other nodes."""


class Stat(NamedTuple):
    """What /proc/PID/stat says of a process."""

    dead: bool
    """Whether it has ended and nobody has waited for it yet."""
    seconds: float
    """Of processor time that it has used, and that its first thread waited for a processor."""
    name: str


@dataclass(eq=False)
class Member:
    """A process of the command."""

    pid: int
    parent: "Member | None"
    name: str = ""
    looks: int = 0
    rank: int | None = None
    spawned: bool = False
    awaits: bool = False
    """Whether it is torchrun that waits for other nodes than this one."""
    gone: float | None = None
    """When it was first found to have ended."""
    past: deque[tuple[float, float]] = field(default_factory=deque)
    """The times of the last looks, and its processor time then."""

    def note(self, now: float, seconds: float) -> None:
        """Note how much processor time it has used by now."""
        self.past.append((now, seconds))
        while len(self.past) > FORMS and self.past[1][0] <= now - RECENT:
            self.past.popleft()

    @property
    def share(self) -> float:
        """How much of one processor it used lately, or would have."""
        (begun, before), (now, after) = self.past[0], self.past[-1]
        return (after - before) / max(now - begun, 1.0)


@dataclass
class Family:
    """The processes below one, with their ranks."""

    root: int
    members: dict[int, Member] = field(default_factory=dict)
    looked: float = 0.0
    remembered: tuple[bool, str, str] = (False, "", "")
    dumps: list[tuple[Member, "subprocess.Popen[bytes]", IO[bytes]]] = field(default_factory=list)

    def look(self, heard: float) -> None:
        """Look at them, if it is time to; `heard` is when the command last printed something."""
        now = time.monotonic()
        if now < self.looked + EVERY:
            return
        fresh = heard >= self.looked
        self.looked = now
        found = dict(self._walk())
        for pid, member in self.members.items():
            if pid not in found and member.gone is None:
                member.gone = now
        for pid, (member, stat) in found.items():
            member.note(now, stat.seconds)
            member.name = stat.name
            if member.looks < FORMS:
                words = _read(f"/proc/{pid}/cmdline")
                member.rank, member.spawned = _rank(pid), SPAWNED in words
                member.awaits = LAUNCHER.search(words) is not None and SEVERAL.search(words) is not None
            member.looks += 1
        if fresh:
            self.drop()

    def _walk(self) -> Iterator[tuple[int, tuple[Member, Stat]]]:
        waiting: list[tuple[int, Member | None]] = [(self.root, None)]
        for pid, parent in waiting:
            stat = _stat(pid)
            if stat is None or stat.dead:
                continue
            member = self.members.setdefault(pid, Member(pid, parent))
            yield pid, (member, stat)
            if len(waiting) < MOST:
                waiting += [(child, member) for child in _children(pid)]

    def ranks(self) -> list[Member]:
        """Return the first process of each rank; its workers have its variables too.

        Where nobody has a rank, those that one process spawned are taken for them, where there are several.
        """
        heads = [m for m in self.members.values() if m.rank is not None and not _inherits(m)]
        if heads:
            return sorted(heads, key=lambda m: (m.rank, m.pid))
        spawned = [m for m in self.members.values() if m.spawned]
        parents = [m.parent for m in spawned]
        return [m for m in spawned if parents.count(m.parent) > 1]

    def stood(self) -> tuple[bool, str, str]:
        """Return whether the ranks stand still, what they do, and where they stand, as of the last look."""
        return self.still(), self.told(), self.stacks()

    def remember(self) -> None:
        """Keep that: the command had been silent for long, and prints again, as it does when it is ended."""
        self.remembered = self.stood()

    def still(self) -> bool:
        """Return whether they stood still for certain: none computed, or torchrun had not started any."""
        ranks = self.ranks()
        if self._awaits():
            return True
        gone = self._gone()
        there = [m for m in ranks if m not in gone and m.looks > FORMS]
        return bool(there) and all(m.share <= IDLE for m in there)

    def _awaits(self) -> bool:
        """Return whether torchrun waited for other nodes, and had started no rank on this one."""
        waiting = (m.awaits and m.share <= IDLE and m.looks > FORMS for m in self.members.values())
        return not self.ranks() and any(waiting)

    def _gone(self) -> list[Member]:
        """Return the ranks that were gone at two looks: what ended the command may have ended the others already."""
        return [m for m in self.ranks() if m.gone is not None and m.gone <= self.looked - EVERY]

    def told(self) -> str:
        """Say of each rank whether it had gone, and whether those that were there computed or waited."""
        gone = self._gone()
        there = [m for m in self.ranks() if m not in gone]
        if self._awaits():
            return "torchrun had started no rank, and waited for other nodes"
        if not there:
            return self._busiest()
        said = [f"{_name(m)} had been gone for {self.looked - (m.gone or 0):,.0f} s" for m in gone]
        said += [f"{_name(m)} {_did(m)}" for m in there if m.looks > FORMS]
        return listed(said, 8, str)

    def _busiest(self) -> str:
        """Say which process computed where no ranks are known, such as a compiler, or that none did."""
        there = [m for m in self.members.values() if m.gone is None and m.looks > FORMS]
        if not there or self.ranks():
            return ""
        most = max(there, key=lambda m: m.share)
        if most.share > IDLE:
            return f"{most.name} (pid {most.pid}) {_did(most)}"
        return f"{listed([f'{m.name} (pid {m.pid})' for m in there], 4, str)} waited"

    def ask(self) -> None:
        """Have py-spy read where the ranks stand, unless it was asked already; it does not stop them."""
        command = shutil.which("py-spy")
        if self.dumps or command is None:
            return
        for member in [m for m in self.ranks() if m.gone is None][:STACKS]:
            into = tempfile.TemporaryFile()
            words = [command, "dump", "--nonblocking", "--pid", str(member.pid)]
            with contextlib.suppress(OSError):
                asked = subprocess.Popen(
                    words, stdin=subprocess.DEVNULL, stdout=into, stderr=subprocess.DEVNULL
                )
                self.dumps.append((member, asked, into))

    def stacks(self) -> str:
        """Return the main threads' stacks, each below a line that names the rank."""
        parts: list[str] = []
        for member, asked, into in self.dumps:
            if asked.poll() != 0:
                continue
            into.seek(0)
            frames = main_thread(into.read().decode(errors="replace").splitlines())
            head = f"rank {member.rank} stands here (most recent call first):"
            if member.rank is None:
                head = f'Thread {member.pid} (idle): "MainThread"'
            if frames:
                parts += [head, *(frame[0] for frame in frames), ""]
        return "\n".join(parts)

    def drop(self) -> None:
        """Forget the stacks: the command goes on."""
        for _, asked, into in self.dumps:
            if asked.poll() is None:
                asked.kill()
                asked.wait()
            into.close()
        self.dumps.clear()


def _name(member: Member) -> str:
    what = f"rank {member.rank}" if member.rank is not None else "a process that it had spawned"
    return f"{what} (pid {member.pid})"


def _did(member: Member) -> str:
    share = member.share
    if share <= IDLE:
        return "waited"
    return "computed" if share >= BUSY else f"used {share:.0%} of a processor"


def _inherits(member: Member) -> bool:
    return member.parent is not None and member.parent.rank == member.rank


def _read(path: str) -> bytes:
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return file.read()
    return b""


def _stat(pid: int) -> Stat | None:
    # The name, in brackets, may hold blanks and brackets itself: proc(5).
    name, _, rest = _read(f"/proc/{pid}/stat").rpartition(b")")
    fields = rest.split()
    if len(fields) < 13:
        return None
    seconds = (int(fields[11]) + int(fields[12])) / TICKS
    # Where others keep the processors busy, a process that computes gets little of them: proc_schedstat, in ns.
    queued = _read(f"/proc/{pid}/schedstat").split()
    seconds += int(queued[1]) / 1e9 if len(queued) > 1 else 0.0
    return Stat(fields[0] in (b"Z", b"X"), seconds, name.partition(b"(")[2].decode(errors="replace"))


def _children(pid: int) -> list[int]:
    """Return the processes that a process's first thread has started."""
    return [int(child) for child in _read(f"/proc/{pid}/task/{pid}/children").split()]


def _rank(pid: int) -> int | None:
    """Return the rank that a launcher below us gave to a process: what we have ourselves says nothing."""
    rows = _read(f"/proc/{pid}/environ").split(b"\0")
    variables = dict(row.decode(errors="replace").partition("=")[::2] for row in rows)
    for name in RANKS:
        value = variables.get(name, "")
        if value.isdecimal() and value != os.environ.get(name):
            return int(value)
    return None
