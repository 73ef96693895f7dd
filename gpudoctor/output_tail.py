"""The last part of what a command prints, and for how long it printed nothing."""

import time
from collections import deque
from typing import NamedTuple

KEPT = 8 << 20
"""Bytes of output that are kept: the end, where the error is."""
SILENT = 30.0
"""Seconds without a word that are worth telling of a command that was ended from outside."""
LONGER = 3
"""How many times as long as ever before: what prints every ten minutes does not stand still after eleven."""


def stands_still(silent: float, longest: float, still: bool = False) -> bool:
    """Return whether a command that has printed nothing for some seconds may stand still.

    `longest` is for how long it had been silent before, `still` whether its ranks are known to do nothing.
    """
    return silent >= max(SILENT, longest if still else LONGER * longest)


class Gap(NamedTuple):
    """A time in which a command printed nothing."""

    until: float
    silent: float
    longest: float
    """The longest time before it, in seconds, in which it printed nothing."""
    lines: int
    """Line ends that were kept when it began."""


class Tail:
    """The last bytes of a stream."""

    def __init__(self, most: int = KEPT) -> None:
        self.most = most
        self.heard = time.monotonic()
        self.longest = 0.0
        """The longest time between two blocks."""
        self.silent: float | None = None
        self.lines: int | None = None
        """Line ends that were kept when somebody asked the command to end."""
        self.gap: Gap | None = None
        """The last time in which it printed nothing for long."""
        self.blocks: deque[bytes] = deque()
        self.size = 0

    def add(self, block: bytes) -> None:
        """Append a block and forget what is too old."""
        if block and self.silent is None:
            self._end_of_silence()
        self.blocks.append(block)
        self.size += len(block)
        while self.size - len(self.blocks[0]) >= self.most:
            self.size -= len(self.blocks.popleft())

    def _end_of_silence(self) -> None:
        now = time.monotonic()
        if now - self.heard >= SILENT:
            self.gap = self.silence(now)
        self.longest, self.heard = max(self.longest, now - self.heard), now

    def silence(self, now: float) -> Gap:
        """Return for how long nothing has come."""
        return Gap(now, now - self.heard, self.longest, self.bytes().count(b"\n"))

    def asked(self) -> None:
        """Note for how long nothing had come when somebody first asked the command to end."""
        if self.silent is None:
            self.silent = time.monotonic() - self.heard
            self.lines = self.bytes().count(b"\n")

    def bytes(self) -> bytes:
        """Return what is kept."""
        return b"".join(self.blocks)[-self.most :]
