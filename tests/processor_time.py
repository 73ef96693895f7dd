"""Limits on processor time that hold on a slower or a busier machine too."""

import gc
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

REFERENCE = 0.085
"""Processor seconds that the yardstick takes on the machine that the limits were written on, with nothing beside it."""

GROWTH = 2
"""How many times a limit may be exceeded.

What it is there to catch, time that grows with the square of a text, is ten to a thousand times as long; where cores
are shared with others all takes twice as long by chance."""

LINES = "".join(f"[rank{n % 8}]: step {n} loss {n / 7:.3f} at 0x{n:x}\n" for n in range(20_000))
PATTERN = re.compile(r"(\w+) (?P<number>\d+\.\d+)")


@contextmanager
def within(seconds: float, what: str = "") -> Iterator[None]:
    """Fail where the block takes many more processor seconds than these, of the machine they were written on.

    Other processes make no block wait longer here, but they share its caches and, with hyper-threading, its
    core: in a suite of four processes a block has been seen to take 2.4 times as much. So one that was too slow is
    judged by a yardstick that is measured at once after it. What earlier tests left is frozen for the block, so
    that the garbage collector does not search it again and again.
    """
    gc.freeze()
    begun = time.process_time()
    try:
        yield
    finally:
        gc.unfreeze()
    used = time.process_time() - begun
    if used > seconds:
        assert used <= GROWTH * seconds * slowness(), f"{used:.2f} s of a processor, {seconds} asked {what}"


def slowness() -> float:
    """Return how many times as long this machine takes, now, as the one that the limits were written on; 1 at least."""
    return max(1.0, yardstick() / REFERENCE)


def yardstick() -> float:
    """Return the processor seconds of a fixed piece of work: splitting, searching and counting of lines."""
    begun = time.process_time()
    counted: dict[str, int] = {}
    for line in LINES.splitlines() * 2:
        for word in line.split():
            counted[word] = counted.get(word, 0) + 1
        assert PATTERN.search(line)
    return time.process_time() - begun
