"""Write random bytes into a file without a name in the working folder, read them back, and compare."""

import os
import tempfile
import time
from pathlib import Path

from gpudoctor.facts import Disk
from gpudoctor.text import byte_size

BLOCK = 4 << 20
MOST = 256 << 20
"""Bytes."""
SECONDS = 3.0
"""For writing, and again for reading."""
SYNCED = 8
"""Blocks after which the disk must have them: no page cache of a slow disk may fill up."""


def probe() -> Disk:
    """Measure the working folder, or where that cannot be written the folder of temporary files."""
    folder = os.getcwd() if os.access(".", os.W_OK) else tempfile.gettempdir()
    return measure(folder)


def measure(folder: str, most: int = MOST) -> Disk:
    """Measure one folder; raises OSError where it cannot be written or has too little room."""
    free = os.statvfs(folder)
    blocks = min(most, free.f_bavail * free.f_frsize // 4) // BLOCK
    if not blocks:
        raise OSError(f"{folder} has less than {byte_size(4 * BLOCK)} left")
    random = os.urandom(BLOCK - 8)
    with tempfile.TemporaryFile(dir=folder, buffering=0) as file:
        written, seconds = _write(file.fileno(), random, blocks)
        # Of what is read back from the page cache alone, the disk would have no part.
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        read, wrong, taken = _read(file.fileno(), random, written)
    return Disk(
        folder=folder,
        file_system=file_system(folder),
        size=written * BLOCK,
        write=written * BLOCK / seconds / 1e9,
        read=read * BLOCK / taken / 1e9 if read else None,
        wrong_bytes=wrong,
    )


def _block(number: int, random: bytes) -> bytes:
    """Return a block that is like no other one."""
    return number.to_bytes(8, "little") + random


def _write(file: int, random: bytes, blocks: int) -> tuple[int, float]:
    """Return how many blocks were written, and the seconds until they were on the disk."""
    begun = time.monotonic()
    for number in range(blocks):
        rest = memoryview(_block(number, random))
        while rest:
            rest = rest[os.write(file, rest) :]
        if (number + 1) % SYNCED == 0 or number + 1 == blocks:
            os.fsync(file)
            if time.monotonic() - begun > SECONDS:
                break
    return number + 1, time.monotonic() - begun


def _read(file: int, random: bytes, blocks: int) -> tuple[int, int, float]:
    """Return how many blocks were read, how many of their bytes are wrong, and the seconds of reading alone."""
    os.lseek(file, 0, os.SEEK_SET)
    wrong, taken = 0, 0.0
    for number in range(blocks):
        begun = time.monotonic()
        block = bytearray()
        while len(block) < BLOCK and (piece := os.read(file, BLOCK - len(block))):
            block += piece
        taken += time.monotonic() - begun
        wrong += different(bytes(block), _block(number, random))
        if taken > SECONDS:
            break
    return number + 1, wrong, taken


def different(read: bytes, written: bytes) -> int:
    """Return in how many bytes what was read differs from what was written; what is missing counts."""
    if read == written:
        return 0
    return sum(a != b for a, b in zip(read, written, strict=False)) + abs(len(read) - len(written))


def file_system(folder: str, mounts: Path = Path("/proc/mounts")) -> str:
    """Return the type of the file system that a folder lies on; empty: not known."""
    try:
        rows = [line.split() for line in mounts.read_text(errors="replace").splitlines()]
    except OSError:
        return ""
    path = os.path.realpath(folder) + "/"
    holding = [
        (len(row[1]), row[2]) for row in rows if len(row) > 2 and path.startswith(row[1].rstrip("/") + "/")
    ]
    return max(holding, default=(0, ""), key=lambda mount: mount[0])[1]
