"""Many files are examined side by side, each process with a deadline for each file; the results come in order."""

import os
import struct
from collections.abc import Mapping, Sequence

import msgspec

from gpudoctor import garbage
from gpudoctor.child import Child, run
from gpudoctor.code.examination import Examined, Examiner
from gpudoctor.code.files import Chosen
from gpudoctor.fork import ONLY_FORKED, may_fork, tell
from gpudoctor.report import Say

MOST_WORKERS = 8
DEADLINE = 60.0
"""Seconds for one file. The longest program of torch's own tree takes 2 s; `program.MOST_STEPS` bounds the others."""
ALONE = 150_000
"""Bytes of source that one process reads before a second one is worth its start."""
PART = 64
"""Files that a process takes at a time, at most: neighbours import each other, and are then read once."""
TURNS = 4
"""Parts for each process at least, so that all end at about the same time."""
_INDEX = struct.Struct("i")
_Line = tuple[int, Examined | None]
"""The number of a file, and what was found in it; ``None`` where its turn begins."""


def examined(
    files: Sequence[Chosen], examiner: Examiner, contents: Mapping[int, bytes], say: Say = lambda doing: None
) -> list[Examined]:
    """Examine files, and return what was found in each; `contents` holds what was read already, by number."""
    found: dict[int, Examined] = {}
    left = list(range(len(files)))
    while left and may_fork():
        begun = len(left)
        _round(left, files, examiner, contents, found, say)
        left = [number for number in left if number not in found]
        if len(left) == begun:
            break  # no process can be had
    for number in left:
        found[number] = examiner.file(files[number].path, contents.get(number))
    return [found[number] for number in range(len(files))]


def _round(
    numbers: list[int], files: Sequence[Chosen], examiner: Examiner, contents: Mapping[int, bytes],
    found: dict[int, Examined], say: Say,
) -> None:  # fmt: skip
    """Let processes examine files; one that keeps its process from going on is named, those after it are left."""
    workers = _count(numbers, files)
    size = max(1, min(PART, len(numbers) // (TURNS * workers)))
    parts = [numbers[first : first + size] for first in range(0, len(numbers), size)]
    # The largest first: what is left at the end, when others have nothing to do, is small.
    parts.sort(key=lambda part: -sum(_bytes(files[number]) for number in part))
    queue, source = os.pipe()
    os.set_blocking(source, False)
    # Those beyond what a pipe holds (64 KiB) have their turn in the next round.
    parts = parts[: 60_000 // _INDEX.size]
    os.write(source, b"".join(_INDEX.pack(number) for number in range(len(parts))))
    os.close(source)
    at: dict[int, int] = {}
    children = [_worker(name, queue, parts, files, examiner, contents, found, at) for name in range(workers)]
    try:
        run(children, on_tick=lambda _: say(f"read {len(found)} of {len(files)} files"))
    finally:
        os.close(queue)
    for name, child in enumerate(children):
        number = at.get(name)
        if number is not None and number not in found and child.end is not None:
            found[number] = Examined(unread=[f"{files[number].name}: its reader ended: {child.end}"])


def _worker(
    name: int, queue: int, parts: list[list[int]], files: Sequence[Chosen], examiner: Examiner,
    contents: Mapping[int, bytes], found: dict[int, Examined], at: dict[int, int],
) -> Child:  # fmt: skip
    """Return a process that takes parts of the files from a queue until it is empty."""

    def work() -> None:
        garbage.leave()
        while index := os.read(queue, _INDEX.size):
            for number in parts[_INDEX.unpack(index)[0]]:
                tell((number, None))
                tell((number, examiner.file(files[number].path, contents.get(number))))

    def hear(line: bytes) -> None:
        number, result = msgspec.json.decode(line, type=_Line)
        at[name] = number
        child.deadline = child.running + DEADLINE
        if result is not None:
            found[number] = result

    child = Child(
        f"reader {name + 1}",
        ONLY_FORKED,
        DEADLINE,
        hear,
        function=work,
        keep=(queue,),
    )
    return child


def _bytes(file: Chosen) -> int:
    """Return the size of a file, 0 of one that cannot be looked at."""
    try:
        return os.stat(file.path).st_size
    except OSError:
        return 0


def _count(numbers: list[int], files: Sequence[Chosen]) -> int:
    """Return how many processes are worth it."""
    size = 0
    for number in numbers:
        size += _bytes(files[number])
        if size > ALONE * MOST_WORKERS:
            break
    return max(1, min(len(os.sched_getaffinity(0)), MOST_WORKERS, len(numbers), 1 + size // ALONE))
