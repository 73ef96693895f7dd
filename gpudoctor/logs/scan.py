"""A log of any size, read in one pass: the lines that a reader would look at are kept.

A short log is kept whole. Of a long one, the beginning, the end, and what stands around each literal.
"""

from collections import Counter
from typing import NamedTuple, Protocol

from gpudoctor.literals import Finder

SHORT = 4 << 20
"""Bytes of a log that is kept whole."""
BLOCK = 1 << 20
BEFORE, AFTER = 8 << 10, 8 << 10
"""Bytes that are kept around a literal: a traceback with its message fits."""
ENDS = 128 << 10
"""Bytes that are kept of the beginning and of the end."""
BUDGET = 12 << 20
"""Bytes that are kept altogether; after that, only what was rarely seen before."""
OFTEN, RARE = 400, 4
"""So often a literal is worth keeping, and so often even when the budget is spent."""
MARKERS = (
    "Traceback (most recent call last)",
    "Error: ",
    "Exception: ",
    "terminate called after throwing",
    "KeyboardInterrupt",
)
"""What shows a failure that no check knows."""


class Stream(Protocol):
    """What is read: a file, a pipe, an unpacked file."""

    def read(self, size: int, /) -> bytes:
        """Return up to `size` bytes, and none at the end."""


class Kept(NamedTuple):
    """The lines of a log that are worth reading."""

    lines: list[tuple[int, str]]
    """With their numbers, from 1."""
    total: int
    """Lines in the whole log."""
    size: int
    """Bytes in the whole log."""


def scan(stream: Stream, find: Finder) -> Kept:
    """Read a stream to its end."""
    begin = _read(stream, SHORT)
    if len(begin) < SHORT:
        rows = _rows(begin, 1)
        return Kept(rows, len(rows), len(begin))
    scanner = _Scanner(find)
    block: bytes = begin
    while block:
        after = _read(stream, BLOCK)
        scanner.take(block, last=not after)
        block = after
    return Kept(scanner.rows(), scanner.line, scanner.size)


def _read(stream: Stream, size: int) -> bytes:
    """Read exactly `size` bytes, or what is left."""
    pieces = []
    while size > 0 and (piece := stream.read(size)):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _rows(data: bytes, number: int) -> list[tuple[int, str]]:
    text = data.decode("utf-8", "replace")
    text = text.removesuffix("\n")
    return [(number + n, row) for n, row in enumerate(text.split("\n"))] if text else []


class _Scanner:
    """Goes through a long log block by block."""

    def __init__(self, find: Finder) -> None:
        self.find = find
        self.counts: Counter[int] = Counter()
        self.regions: list[tuple[int, bytes]] = []  # number of the first line, and the bytes
        self.kept = 0
        self.size = 0
        self.line = 1  # number of the line at the beginning of the buffer
        self.carry = b""
        self.offset = 0  # of the buffer in the log
        self.until = 0  # offset in the log up to which lines are kept

    def take(self, block: bytes, *, last: bool) -> None:
        """Keep what is worth it of a block; what stands at its end waits for the next one, unless it is the `last`."""
        data = self.carry + block
        self.size += len(block)
        if self.offset == 0:
            self._keep(data, 0, ENDS)
        low = 0 if self.offset == 0 else BEFORE
        high = len(data) if last else max(low, len(data) - AFTER)
        line, at = self.line, 0
        for number, start, _ in self.find.find(data):
            if (
                low <= start < high
                and self.offset + start + AFTER // 2 >= self.until
                and self._wanted(number)
            ):
                line, at = line + data.count(b"\n", at, start), start
                self._keep(data, max(at - BEFORE, self.until - self.offset, 0), start + AFTER, (line, at))
        if last:
            self._keep(data, max(len(data) - ENDS, self.until - self.offset, 0), len(data))
        carried = min(len(data), BEFORE + AFTER)
        self.line += data.count(b"\n", 0, len(data) - carried)
        self.offset += len(data) - carried
        self.carry = data[len(data) - carried :]
        if last:
            self.line += self.carry.count(b"\n") - (1 if self.carry.endswith(b"\n") else 0)

    def _wanted(self, number: int) -> bool:
        self.counts[number] += 1
        return self.counts[number] <= (OFTEN if self.kept < BUDGET else RARE)

    def _keep(self, data: bytes, begin: int, end: int, known: tuple[int, int] | None = None) -> None:
        """Keep the lines between two places; `known` is the number of the line at some place between them."""
        cut = data.rfind(b"\n", max(0, begin - BEFORE), begin) + 1 if begin else 0
        begin = cut or begin
        end = (data.find(b"\n", end, end + AFTER) + 1 or end) if end < len(data) else len(data)
        if begin >= end:
            return
        line, at = known or (self.line, 0)
        number = line - data.count(b"\n", begin, at) if begin <= at else line + data.count(b"\n", at, begin)
        self.regions.append((number, data[begin:end]))
        self.kept += end - begin
        self.until = max(self.until, self.offset + end)

    def rows(self) -> list[tuple[int, str]]:
        """Return the lines that were kept, in order."""
        return [row for number, data in self.regions for row in _rows(data, number)]
