"""Read what ``torch.save`` wrote before 1.6: a magic number, several pickles in a row, and the storages behind them."""

import struct
from typing import BinaryIO

from gpudoctor.checkpoint.opcodes import Walker, suspects
from gpudoctor.checkpoint.rebuild import Rebuilder, allowed
from gpudoctor.checkpoint.tree import Checkpoint, Suspect, Unreadable

MAGIC = 0x1950A86A20F9469CFC6C
"""torch/serialization.py."""
PICKLES_MOST = 1 << 29


def is_legacy(begin: bytes) -> bool:
    """Tell whether a file begins as the legacy format does: with a pickle of the magic number."""
    return MAGIC.to_bytes(10, "little") in begin[:32]


def read_legacy(file: BinaryIO, path: str, size: int) -> Checkpoint:
    """Read the pickles, and see whether the storages are all there; raises `Unreadable`."""
    data = _pickles(file, size)
    checkpoint = Checkpoint(path=path, kind="torch legacy", size=size)
    rebuilder = Rebuilder()
    found: list[Suspect] = []
    at = 0
    values = []
    for entry in ("magic number", "protocol version", "system", "pickle", "storage keys"):
        walker = Walker(data, at, make=rebuilder.make, persistent=rebuilder.storage)
        values.append(walker.walk())
        found += suspects(walker, entry, allowed)
        at = walker.at
    magic, version, system, root, keys = values
    if magic != MAGIC or not isinstance(keys, list):
        raise Unreadable("not what torch.save wrote before 1.6")
    checkpoint.root, checkpoint.version, checkpoint.suspects = root, str(version), found
    if isinstance(system, dict) and system.get("little_endian") is False:
        checkpoint.notes.append("written on a big-endian machine")
    checkpoint.trouble = list(_trouble(file, at, size, [str(key) for key in keys], rebuilder))
    return checkpoint


def _pickles(file: BinaryIO, size: int) -> bytes:
    file.seek(0)
    return file.read(min(size, PICKLES_MOST))


def _trouble(file: BinaryIO, at: int, size: int, keys: list[str], rebuilder: Rebuilder):  # type: ignore[no-untyped-def]
    """Walk over the storages: each is its number of elements, then its bytes."""
    for key in keys:
        storage = rebuilder.storages.get(key)
        if storage is None:
            yield f"storage {key} is there and no tensor asks for it"
            return
        file.seek(at)
        head = file.read(8)
        if len(head) < 8:
            yield f"the file ends before storage {key} ({storage.size} bytes)"
            return
        (elements,) = struct.unpack("<q", head)
        if elements != storage.elements:
            yield f"storage {key} has {elements} elements, and its tensors need {storage.elements}"
            return
        at += 8 + storage.size
        if at > size:
            yield f"storage {key} is cut off: {at - size} of its {storage.size} bytes are missing"
            return
    missing = [key for key in rebuilder.storages if key not in keys]
    if missing:
        yield f"storage {missing[0]} is not in the file"
