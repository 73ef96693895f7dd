"""Run a command as if nobody looked on: its output goes where it would have gone, and the last part of it is kept."""

import contextlib
import errno
import fcntl
import os
import select
import signal
import stat
import struct
import subprocess
import termios
import time
import tty
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from gpudoctor.output_tail import SILENT, Tail, stands_still
from gpudoctor.process_family import Family
from gpudoctor.process_memory import largest_child, oom_kills
from gpudoctor.standstill import last_gap

BLOCK = 64 << 10
LINGER = 1.0
"""Seconds that a finished command's output is waited for: what it left running may hold its pipes for ever."""
PASSED_ON = (
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGUSR1,
    signal.SIGUSR2,
    signal.SIGCONT,
    signal.SIGQUIT,
)
ASKING = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT}
"""Signals that ask a command to end."""


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    """Its exit code; 128 and the signal's number where a signal ended it, as a shell says it."""
    output: bytes
    """The last part of its output and errors, together."""
    seconds: float
    interrupted: bool = False
    """Whether a signal that asks for its end came to us while it ran, from a terminal or from outside."""
    unread: bool = False
    """Whether a reader of its output or errors went away before it ended."""
    refused: str | None = None
    """Why its output could not be passed on although somebody wants it: the disk is full, say."""
    killed: bool = False
    """Whether it died of SIGKILL itself: an exit code of 137 may be another process's, on another machine."""
    oom_kills: int | None = None
    """How many processes the kernel killed on this machine, while it ran, because memory had run out."""
    largest_bytes: int | None = None
    """The most memory that it, or one of the processes that it waited for, held."""
    silent: float | None = None
    """For how many seconds it had printed nothing when it was asked to end; ``None`` where nobody did."""
    longest_silence: float = 0.0
    """The longest time before that, in seconds, in which it printed nothing."""
    lines: int | None = None
    """Lines of its output that it had printed by then, as far as they were kept."""
    still: bool = False
    """Whether its ranks stood still for certain when it was asked to end."""
    ranks: str = ""
    """What their processes did then, as a sentence."""
    stacks: str = ""
    """Where they stood then, as py-spy told."""


@dataclass
class _Channel:
    """One of the command's streams: where we read it, where it is written, and whether that is a terminal."""

    source: int
    target: int
    terminal: bool
    open: bool = True
    unread: bool = False
    refused: str | None = None

    def copy(self, tail: Tail) -> None:
        """Pass on what the command wrote, and close the stream where it ended or where nobody takes it."""
        try:
            block = os.read(self.source, BLOCK)
        except OSError:  # a pseudo-terminal whose other end is closed
            block = b""
        tail.add(block)
        try:
            _write(self.target, block)
        except OSError as error:
            # EIO of a terminal: it was closed.
            self.unread = error.errno == errno.EPIPE or (self.terminal and error.errno == errno.EIO)
            self.refused = None if self.unread else error.strerror
        if not block or self.unread or self.refused:
            self.close()

    def close(self) -> None:
        """Close our end: whatever writes to the other one gets SIGPIPE, or an error where that is ignored."""
        if self.open:
            os.close(self.source)
        self.open = False

    def lose_reader(self) -> None:
        """Close the stream because nobody reads what it would be copied to."""
        self.unread = True
        self.close()

    def outlives_its_reader(self) -> bool:
        """Return whether a new reader may come when the last one has gone: a FIFO that has a name."""
        target = os.fstat(self.target)
        return stat.S_ISFIFO(target.st_mode) and target.st_dev != os.fstat(self.source).st_dev


def run_command(command: list[str]) -> Ended:
    """Run a command with our own standard input and the terminal's signals; raises OSError when it cannot start.

    A reader of its output that goes away (``| head``) is gone for the command too: it gets SIGPIPE when it writes next.
    """
    begun = time.monotonic()
    kills = oom_kills()
    tail = Tail()
    with contextlib.ExitStack() as stack:
        channels, ends = _channels(stack)
        poll, owners = _watch(channels)
        for number, _ in poll.poll(0):
            owners[number].lose_reader()  # before the command can write anything
        try:
            # Python ignores SIGPIPE; Popen gives the command the default back (restore_signals).
            process = subprocess.Popen(command, stdout=ends.get(1), stderr=ends.get(2))
        finally:
            for end in set(ends.values()):
                os.close(end)
        family = Family(process.pid)
        stack.callback(family.drop)
        with _signals(process, channels, tail) as received:
            _copy(process, channels, tail, family)
            code = process.wait()
        gap = last_gap(128 - code if code < 0 else code, tail, family)
    return Ended(
        128 - code if code < 0 else code,
        tail.bytes(),
        time.monotonic() - begun,
        not ASKING.isdisjoint(received),
        any(channel.unread for channel in channels),
        next((channel.refused for channel in channels if channel.refused), None),
        code == -signal.SIGKILL,
        None if kills is None else max(0, (oom_kills() or 0) - kills),
        largest_child(),
        *gap,
    )


def _channels(stack: contextlib.ExitStack) -> tuple[list[_Channel], dict[int, int]]:
    """Make a stream for standard output and error each, or one for both where both go to the same place.

    Returns them with the command's ends of them. What is closed for us stays closed for the command.
    """
    channels: list[_Channel] = []
    ends: dict[int, int] = {}
    targets = [number for number in (1, 2) if _is_open(number)]
    for target in targets:
        if target == 2 and 1 in targets and _same(1, 2):
            ends[2] = ends[1]
            break
        terminal = os.isatty(target)
        source, end = os.openpty() if terminal else os.pipe()
        if terminal:
            tty.setraw(end)  # what is written comes through as it is
            _resize(target, source)
        channels.append(_Channel(source, target, terminal))
        stack.callback(channels[-1].close)
        ends[target] = end
    return channels, ends


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def _same(one: int, other: int) -> bool:
    a, b = os.fstat(one), os.fstat(other)
    return (a.st_dev, a.st_ino, a.st_rdev) == (b.st_dev, b.st_ino, b.st_rdev)


def _resize(target: int, source: int) -> None:
    with contextlib.suppress(OSError):
        size = fcntl.ioctl(target, termios.TIOCGWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
        fcntl.ioctl(source, termios.TIOCSWINSZ, size)


def _copy(process: "subprocess.Popen[bytes]", channels: list[_Channel], tail: Tail, family: Family) -> None:
    """Copy the command's output until it ends, or has ended and is silent, or nobody reads it any more.

    Its processes are looked at meanwhile, until it is asked to end.
    """
    poll, owners = _watch(channels)
    while any(channel.open for channel in channels):
        ready = poll.poll(1000 * LINGER)
        if tail.silent is None:
            family.look(tail.heard)
            silent = time.monotonic() - tail.heard
            if silent >= SILENT and stands_still(silent, tail.longest, family.still()):
                family.ask()
        if not ready and process.poll() is not None:
            return
        for number, _ in ready:
            channel = owners.get(number)
            if channel is None:
                continue  # closed a moment ago, for its other end
            if number == channel.target:
                channel.lose_reader()
            else:
                before = tail.gap
                channel.copy(tail)
                if tail.gap is not before:
                    family.remember()
            if not channel.open:
                for each in (channel.source, channel.target):
                    if owners.pop(each, None):
                        poll.unregister(each)


def _watch(channels: Iterable[_Channel]) -> tuple["select.poll", dict[int, _Channel]]:
    """Watch both ends of streams; returns what tells of them, and whose each file descriptor is.

    Of a target no event is asked for: that its reader has gone is told nevertheless, before anything is written.
    """
    poll = select.poll()
    owners: dict[int, _Channel] = {}
    for channel in channels:
        if channel.open:
            poll.register(channel.source, select.POLLIN)
            owners[channel.source] = channel
            if not channel.outlives_its_reader():
                poll.register(channel.target, 0)
                owners[channel.target] = channel
    return poll, owners


def _write(target: int, block: bytes) -> None:
    """Write all of a block; raises OSError where that cannot be."""
    view = memoryview(block)
    while view:
        try:
            view = view[os.write(target, view) :]
        except BlockingIOError:  # a program that shares it made it so
            select.select([], [target], [])


@contextlib.contextmanager
def _signals(process: "subprocess.Popen[bytes]", channels: list[_Channel], tail: Tail) -> Iterator[set[int]]:
    """Pass signals on to the command while it runs; a terminal's own Ctrl-C reaches it anyway.

    Yields the numbers of those that came.
    """
    received: set[int] = set()

    def note(number: int) -> None:
        received.add(number)
        if number in ASKING:
            tail.asked()

    def hand_on(number: int, _: object) -> None:
        note(number)
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)

    def resized(number: int, _: object) -> None:
        for channel in channels:
            if channel.terminal and channel.open:
                _resize(channel.target, channel.source)
        hand_on(number, None)

    def interrupted(number: int, _: object) -> None:
        note(number)
        if not foreground:
            hand_on(number, None)

    foreground = _foreground()
    handlers = dict.fromkeys(PASSED_ON, hand_on) | {
        signal.SIGINT: interrupted,
        signal.SIGWINCH: resized,
    }
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _foreground() -> bool:
    """Return whether a terminal sends its Ctrl-C to our process group, and so to the command too."""
    try:
        return os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False
