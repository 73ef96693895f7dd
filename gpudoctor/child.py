"""Run commands in process groups of their own, with deadlines and bounded output, and leave nothing behind.

Everything that may hang, flood or crash runs through here.
"""

import contextlib
import ctypes
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gpudoctor.fork import Forked, fork, may_fork
from gpudoctor.text import byte_size

STDOUT_MOST = 32 * 1024 * 1024
"""Bytes of standard output after which a child is taken for one that floods, and ended."""
STDERR_KEPT = 256 * 1024
"""Bytes of standard error that are kept: the last ones."""
GRACE = 0.5
"""Seconds between SIGTERM and SIGKILL; an interrupted gpudoctor must be gone within one second."""
DEATH = 0.4
"""Seconds for a killed process to be gone; one that hangs inside a driver call cannot be killed at all."""
READS = 16
"""Pieces of 64 KiB that are taken from one pipe before anything else, deadlines too, gets its turn."""

_started: set[int] = set()
_adopting = False


@dataclass
class Child:
    """A command, and what became of it."""

    name: str
    command: list[str]
    deadline: float
    """Seconds from its start."""
    on_line: Callable[[bytes], None] = lambda line: None
    """Called with each line of standard output, without its end."""
    environment: Mapping[str, str] | None = None
    folder: str | None = None
    merge_errors: bool = False
    """Standard error goes where standard output goes, in order."""
    speechless: float | None = None
    """Seconds from its start by which it must have written something, or else its deadline has passed."""
    function: Callable[[], None] | None = None
    """What the command does, for a fork of this process in its place, where that can be had."""
    keep: Sequence[int] = ()
    """Descriptors of this process that the fork may use."""
    process: "subprocess.Popen[bytes] | Forked | None" = None
    begun: float = 0.0
    seconds: float = 0.0
    timed_out: bool = False
    flooded: bool = False
    refused: str | None = None
    """Why it could not be started."""
    stuck: bool = False
    """It was killed and did not end: it hangs inside the kernel, and was left behind."""
    stderr: bytes = b""
    _rest: bytearray = field(default_factory=bytearray)
    _taken: int = 0
    _pipes: dict[int, Callable[[bytes], None]] = field(default_factory=dict)

    @property
    def returncode(self) -> int | None:
        """The exit status; negative: the signal that ended it; ``None``: it never started."""
        return self.process.returncode if self.process else None

    @property
    def end(self) -> str | None:
        """How it ended, in words; ``None``: well."""
        if self.refused:
            return self.refused
        if self.timed_out:
            return f"no answer in {round(self.patience, 1):g} s" + (
                ", and it cannot be killed" if self.stuck else ""
            )
        if self.flooded:
            return f"more than {byte_size(STDOUT_MOST)} of output"
        code = self.returncode or 0
        if code < 0:
            names = {member.value: member.name for member in signal.Signals}
            return f"killed by {names.get(-code, f'signal {-code}')}"
        return f"exit status {code}" if code else None

    @property
    def patience(self) -> float:
        """Seconds from its start that it is waited for, as far as is known now."""
        silent = self.speechless is not None and not self._taken
        return min(self.deadline, self.speechless) if silent and self.speechless else self.deadline

    @property
    def running(self) -> float:
        """Seconds since its start."""
        return time.monotonic() - self.begun

    @property
    def last_words(self) -> str:
        """The last line that it wrote to standard error."""
        return next(iter(self.stderr.decode(errors="replace").strip().splitlines()[-1:]), "")

    def start(self) -> None:
        """Start the command; a command that cannot be run says so in `refused`."""
        self.begun = time.monotonic()
        try:
            self.process = self._started()
        except OSError as error:
            self.refused = f"cannot be run: {error.strerror or error}"
            return
        _started.add(self.process.pid)
        for stream, take in (
            (self.process.stdout, self._take_output),
            (self.process.stderr, self._take_error),
        ):
            if stream is not None:
                os.set_blocking(stream.fileno(), False)
                self._pipes[stream.fileno()] = take

    def _started(self) -> "subprocess.Popen[bytes] | Forked":
        if self.function is not None and may_fork():
            return fork(self.function, self.keep)
        return subprocess.Popen(
            self.command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT if self.merge_errors else subprocess.PIPE,
            env=self.environment,
            cwd=self.folder,
            start_new_session=True,
        )

    def read(self, pipe: int) -> bool:
        """Take what lies in a pipe; return whether more may come."""
        with contextlib.suppress(BlockingIOError):
            for _ in range(READS):
                data = b"" if self.flooded else os.read(pipe, 1 << 16)
                if not data:
                    return False
                self._pipes[pipe](data)
        return not self.flooded

    def _take_output(self, data: bytes) -> None:
        self._taken += len(data)
        self.flooded = self._taken > STDOUT_MOST
        first, *others = data.split(b"\n")
        self._rest += first
        if others:
            *lines, last = others
            for line in (bytes(self._rest), *lines):
                self.on_line(line)
            self._rest = bytearray(last)

    def _take_error(self, data: bytes) -> None:
        self.stderr = (self.stderr + data)[-STDERR_KEPT:]

    def close(self) -> None:
        """Give the last, unfinished line, and close the pipes."""
        if self._rest and not self.flooded:
            self.on_line(bytes(self._rest))
        self._rest.clear()
        self.seconds = round(time.monotonic() - self.begun, 3)
        if self.process is not None:
            for stream in (self.process.stdout, self.process.stderr):
                if stream is not None:
                    stream.close()


def run(
    children: Iterable[Child], on_tick: Callable[[list[Child]], None] | None = None, tick: float = 0.1
) -> None:
    """Run commands side by side until each has ended or passed its deadline.

    `on_tick` is called about every `tick` seconds with those that still run. Whatever ends this function, an
    interrupt too, no process that it started is left.
    """
    running: list[Child] = []
    selector = selectors.DefaultSelector()
    try:
        for child in children:
            running.append(child)
            child.start()
            if child.process is None:
                running.remove(child)
            for pipe in child._pipes:
                selector.register(pipe, selectors.EVENT_READ, child)
        while running:
            _listen(selector, running, tick)
            ended = [child for child in running if _over(child)]
            for child in ended:
                for pipe in list(child._pipes):
                    if pipe in selector.get_map():
                        child.read(pipe)
                        selector.unregister(pipe)
            if ended:  # what a command detaches lives as long as the command does
                end(ended)
            running = [child for child in running if child not in ended]
            if on_tick is not None and running:
                begun = time.monotonic()
                on_tick(running)
                spent = time.monotonic() - begun
                for child in running:  # while nobody listened, none was late
                    child.begun += spent
    finally:
        end(running)
        selector.close()


def _listen(selector: selectors.BaseSelector, running: list[Child], tick: float) -> None:
    """Take what comes within one tick."""
    now = time.monotonic()
    patience = min(child.begun + child.patience - now for child in running)
    open_pipes = selector.get_map()
    if any(not any(pipe in open_pipes for pipe in child._pipes) for child in running):
        tick = 0.005  # it closed its pipes and is about to end: nothing else will tell when
    for key, _ in selector.select(max(0.0, min(tick, patience))):
        if not key.data.read(key.fd):
            selector.unregister(key.fd)


def _over(child: Child) -> bool:
    assert child.process is not None
    ended = child.process.poll() is not None
    child.timed_out = not ended and time.monotonic() > child.begun + child.patience
    return ended or child.timed_out or child.flooded


def end(children: list[Child]) -> None:
    """End commands with everything that they started, all at once, and close them."""
    processes = [child.process for child in children if child.process is not None]
    descendants = [
        pid for process in processes if process.poll() is None for pid in _descendants(process.pid)
    ]
    for process in processes:
        _signal(os.killpg, process.pid, signal.SIGTERM if process.poll() is None else signal.SIGKILL)
    patience = time.monotonic() + GRACE
    try:
        while any(process.poll() is None for process in processes) and time.monotonic() < patience:
            time.sleep(0.01)
    finally:  # a second interrupt ends the grace, not the duty
        for process in processes:
            if process.poll() is None:
                descendants += _descendants(process.pid)
            _signal(os.killpg, process.pid, signal.SIGKILL)
        for pid in dict.fromkeys(descendants):
            _signal(os.kill, pid, signal.SIGKILL)
    patience = time.monotonic() + DEATH
    while any(process.poll() is None for process in processes) and time.monotonic() < patience:
        time.sleep(0.005)
    _bury_orphans()
    for child in children:
        child.stuck = child.process is not None and child.process.poll() is None
        child.close()


def _signal(send: Callable[[int, int], None], target: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        send(target, number)


def _children(pid: int) -> list[int]:
    """List a process's children; from ``/proc`` alone, since walking all processes of a large machine is slow."""
    found: list[int] = []
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            found += [int(word) for word in path.read_text().split()]
    return found


def _descendants(pid: int) -> list[int]:
    return [p for child in _children(pid) for p in (child, *_descendants(child))]


def adopt_orphans() -> None:
    """Have the kernel hand us the orphans of our descendants, so that none can slip away by forking twice.

    For a process of our own alone: from then on, a child of this process that was not started here is taken for such
    an orphan, and ended.
    """
    global _adopting
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            # prctl(2): PR_SET_CHILD_SUBREAPER is 36, since Linux 3.4.
            _adopting = ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0


def _bury_orphans() -> None:
    """End the orphans that were handed to us; ending one may hand us its own children."""
    patience = time.monotonic() + DEATH
    while _adopting and time.monotonic() < patience:
        orphans = [pid for pid in _children(os.getpid()) if pid not in _started]
        if not orphans:
            return
        for pid in orphans:
            _signal(os.kill, pid, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, os.WNOHANG)
        time.sleep(0.002)
