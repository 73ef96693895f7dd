"""Run a command as if nobody looked on: its output goes where it would have gone, and the last part of it is kept."""

import contextlib
import fcntl
import os
import selectors
import signal
import struct
import subprocess
import termios
import tty
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

KEPT = 8 << 20
"""Bytes of output that are kept: the end, where the error is."""
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


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    """Its exit code; 128 and the signal's number where a signal ended it, as a shell says it."""
    output: bytes
    """The last part of its output and errors, together."""
    seconds: float


class Tail:
    """The last bytes of a stream."""

    def __init__(self, most: int = KEPT) -> None:
        self.most = most
        self.blocks: deque[bytes] = deque()
        self.size = 0

    def add(self, block: bytes) -> None:
        """Append a block and forget what is too old."""
        self.blocks.append(block)
        self.size += len(block)
        while self.size - len(self.blocks[0]) >= self.most:
            self.size -= len(self.blocks.popleft())

    def bytes(self) -> bytes:
        """Return what is kept."""
        return b"".join(self.blocks)[-self.most :]


class _Channel(NamedTuple):
    """One of the command's streams: where we read it, where it is written, and whether that is a terminal."""

    source: int
    target: int
    terminal: bool


def run_command(command: list[str]) -> Ended:
    """Run a command with our own standard input and the terminal's signals; raises OSError when it cannot start."""
    import time

    begun = time.monotonic()
    tail = Tail()
    with contextlib.ExitStack() as stack:
        channels, ends = _channels(stack)
        process = subprocess.Popen(command, stdout=ends[0], stderr=ends[1])
        for end in set(ends):
            os.close(end)
        with _signals(process, channels):
            _copy(process, channels, tail)
        code = process.wait()
    return Ended(128 - code if code < 0 else code, tail.bytes(), time.monotonic() - begun)


def _channels(stack: contextlib.ExitStack) -> tuple[list[_Channel], list[int]]:
    """Make a stream for standard output and error each, or one for both where both go to the same place."""
    channels: list[_Channel] = []
    ends: list[int] = []
    for target in (1, 2):
        if target == 2 and _same(1, 2):
            ends.append(ends[0])
            break
        terminal = os.isatty(target)
        source, end = os.openpty() if terminal else os.pipe()
        stack.callback(os.close, source)
        if terminal:
            tty.setraw(end)  # what is written comes through as it is
            _resize(target, source)
        channels.append(_Channel(source, target, terminal))
        ends.append(end)
    return channels, ends


def _same(one: int, other: int) -> bool:
    a, b = os.fstat(one), os.fstat(other)
    return (a.st_dev, a.st_ino, a.st_rdev) == (b.st_dev, b.st_ino, b.st_rdev)


def _resize(target: int, source: int) -> None:
    with contextlib.suppress(OSError):
        size = fcntl.ioctl(target, termios.TIOCGWINSZ, struct.pack("HHHH", 0, 0, 0, 0))
        fcntl.ioctl(source, termios.TIOCSWINSZ, size)


def _copy(process: "subprocess.Popen[bytes]", channels: list[_Channel], tail: Tail) -> None:
    """Copy the command's output until it ends, or has ended and is silent."""
    with selectors.DefaultSelector() as selector:
        for channel in channels:
            selector.register(channel.source, selectors.EVENT_READ, channel)
        while selector.get_map():
            ready = selector.select(LINGER)
            if not ready and process.poll() is not None:
                return
            for key, _ in ready:
                try:
                    block = os.read(key.fd, BLOCK)
                except OSError:  # a pseudo-terminal whose other end is closed
                    block = b""
                if block:
                    tail.add(block)
                    _write(key.data.target, block)
                else:
                    selector.unregister(key.fd)


def _write(target: int, block: bytes) -> None:
    view = memoryview(block)
    try:
        while view:
            view = view[os.write(target, view) :]
    except BrokenPipeError:
        signal.raise_signal(signal.SIGPIPE) if signal.getsignal(signal.SIGPIPE) is signal.SIG_DFL else None


@contextlib.contextmanager
def _signals(process: "subprocess.Popen[bytes]", channels: list[_Channel]) -> Iterator[None]:
    """Pass signals on to the command while it runs; a terminal's own Ctrl-C reaches it anyway."""

    def hand_on(number: int, _: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(number)

    def resized(number: int, _: object) -> None:
        for channel in channels:
            if channel.terminal:
                _resize(channel.target, channel.source)
        hand_on(number, None)

    interrupted: Callable[[int, object], None] = (lambda *_: None) if _foreground() else hand_on
    handlers = dict.fromkeys(PASSED_ON, hand_on) | {
        signal.SIGINT: interrupted,
        signal.SIGWINCH: resized,
    }
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _foreground() -> bool:
    """Whether a terminal sends its Ctrl-C to our process group, and so to the command too."""
    try:
        return os.isatty(0) and os.tcgetpgrp(0) == os.getpgrp()
    except OSError:
        return False
