"""Where the processes of a training stand: their Python stacks, taken while they run."""

import os
import re
import resource
import shutil
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass, field

import psutil

from gpudoctor.child import Child, run
from gpudoctor.text import ranges
from gpudoctor.thread_stacks import main_thread

LOOK = 10.0
"""Seconds that py-spy may take; it stops the process meanwhile, which hangs anyway."""
ANSWER = 1.0
"""Seconds for Python to write its stack after the signal: it does so from the signal handler, whatever it waits for."""
QUIET = 0.05
"""Seconds without another line after which a stack is whole: several writes make one."""
MOST = 64
"""Processes whose stacks are taken."""
FRAMES = 12
"""Frames of a stack that are shown."""
LIBRARY = re.compile(r"^.*/(?:site|dist)-packages/|^.*/lib/python3\.\d+/|^/.*/(?=[^/]+$)")


@dataclass
class Stood:
    """A process of the training, and what it wrote when it was asked where it stands."""

    rank: int
    process: psutil.Process
    lines: list[str] = field(default_factory=list)

    @property
    def frames(self) -> list[str]:
        """The main thread's frames, the innermost first, as ``function (path:line)``."""
        found = main_thread(self.lines)
        return [f"{f['name']} ({LIBRARY.sub('', f['path'], count=1)}:{f['line']})" for f in found]


class Stacks:
    """The stacks of a launch, taken one after the other from `look`, which is called again and again."""

    def __init__(self, root: int, script: str) -> None:
        """`root` is the process that was started, `script` what its ranks run."""
        self.stood = list(_ranks(root, script))
        self.current: Stood | None = None
        self.waiting = list(self.stood)
        self.asked = self.grew = 0.0
        self.seen = 0
        self._with_py_spy()

    def hear(self, line: str) -> None:
        """Take a line that the launch printed."""
        if self.current is not None:
            self.current.lines.append(line)

    def look(self) -> bool:
        """Ask the next process where it stands, once the last one has answered; return whether all were asked."""
        now = time.monotonic()
        if self.current is not None and now < self.asked + ANSWER:
            if len(self.current.lines) > self.seen:
                self.seen, self.grew = len(self.current.lines), now
            if not self.seen or now < self.grew + QUIET:
                return False
        self.current, self.asked, self.seen = (self.waiting.pop(0) if self.waiting else None), now, 0
        if self.current is not None:
            _ask(self.current.process)
        return self.current is None

    def _with_py_spy(self) -> None:
        """Take the stacks of all processes that py-spy may look at."""
        command = shutil.which("py-spy")
        if command is None:
            return
        dumps = [
            Child(
                "py-spy",
                [command, "dump", "--pid", str(stood.process.pid)],
                LOOK,
                lambda line, stood=stood: stood.lines.append(line.decode(errors="replace")),  # type: ignore[misc]
            )
            for stood in self.stood
        ]
        run(dumps)
        for stood, dump in zip(self.stood, dumps, strict=True):
            if dump.returncode != 0:
                stood.lines.clear()
        self.waiting = [stood for stood in self.stood if not stood.frames]

    def told(self) -> str:
        """Write who stands where: ranks with the same stack together, the odd one first."""
        groups: dict[tuple[str, ...], list[Stood]] = {}
        for stood in self.stood:
            groups.setdefault(tuple(stood.frames[:FRAMES]), []).append(stood)
        parts = []
        for frames, group in sorted(groups.items(), key=lambda item: (len(item[1]), item[1][0].rank)):
            ranks = [stood.rank for stood in group]
            who = f"rank {ranks[0]} stands" if len(ranks) == 1 else f"ranks {ranges(ranks)} stand"
            if frames:
                parts += [f"{who} here (most recent call first):", *(f"    {frame}" for frame in frames)]
            else:
                parts.append(f"{who} somewhere that Python did not tell")
        return "\n".join(parts)


def _ranks(root: int, script: str) -> Iterable[Stood]:
    """Yield the processes below and with `root` that run the script, by their rank."""
    try:
        process = psutil.Process(root)
        family = [process, *process.children(recursive=True)]
    except psutil.Error:
        return
    found = []
    for process in family:
        try:
            words, environment = process.cmdline(), process.environ()
        except psutil.Error:
            continue
        rank = environment.get("RANK", environment.get("SLURM_PROCID", "0"))
        # torchrun has the script among its words too, behind its own module.
        if script in words and "torch.distributed.run" not in words and rank.isdecimal():
            found.append(Stood(int(rank), process))
    yield from sorted(found, key=lambda stood: stood.rank)[:MOST]


def _ask(process: psutil.Process) -> None:
    """Have Python write its stack: by the signal that the script has kept for it, or else by its end."""
    try:
        if _catches(process.pid, signal.SIGUSR1):
            process.send_signal(signal.SIGUSR1)
        elif _catches(process.pid, signal.SIGABRT):  # PYTHONFAULTHANDLER: from the interpreter's start on
            parent = process.parent()
            if parent is not None and parent.pid != os.getpid():
                parent.suspend()  # or it would end the other ranks at once
            _, most = resource.prlimit(process.pid, resource.RLIMIT_CORE)
            resource.prlimit(process.pid, resource.RLIMIT_CORE, (0, most))
            process.send_signal(signal.SIGABRT)
    except (psutil.Error, OSError):
        return  # it ended meanwhile


def _catches(pid: int, number: signal.Signals) -> bool:
    """Return whether a process handles a signal: one that does not would be ended without a word."""
    with open(f"/proc/{pid}/status") as file:
        caught = next((line.split()[1] for line in file if line.startswith("SigCgt:")), "0")
    return bool(int(caught, 16) >> (number - 1) & 1)
