"""Read what ``torch.save`` wrote before 1.6: a magic number, several pickles in a row, and the storages behind them."""

from collections.abc import Iterator
from typing import BinaryIO

from gpudoctor.checkpoint.pickle.load import PICKLE_MOST, Walked, walked
from gpudoctor.checkpoint.pickle.torch_tensors import Rebuilder
from gpudoctor.checkpoint.tree import Checkpoint, Ended, Suspect, Unreadable
from gpudoctor.text import capped, shown

MAGIC = 0x1950A86A20F9469CFC6C
"""torch/serialization.py."""
FIRST_LOOK = 1 << 20
"""Bytes in which most files have all their pickles; behind them are gigabytes of storages."""
PICKLES = ("magic number", "protocol version", "system", "pickle", "storage keys")


def is_legacy(begin: bytes) -> bool:
    """Return whether a file begins as the legacy format does: with a pickle of the magic number."""
    return MAGIC.to_bytes(10, "little") in begin[:32]


def read_legacy(file: BinaryIO, path: str, size: int) -> Checkpoint:
    """Read the pickles, and see whether the storages are all there; raises `Unreadable`."""
    checkpoint = Checkpoint(path=path, kind="torch legacy", size=size)
    look = FIRST_LOOK
    while True:
        file.seek(0)
        data = file.read(min(look, size, PICKLE_MOST))
        whole = len(data) >= min(size, PICKLE_MOST) or len(data) < look
        rebuilder = Rebuilder()
        found: list[Walked] = []
        try:
            for entry in PICKLES:
                start = found[-1].end if found else 0
                found.append(walked(data, entry, rebuilder, start, report=whole))
                if found[-1].trouble:
                    break
            break
        except Ended as error:
            if whole or error.needed > size:
                checkpoint.suspects = _suspects(found)
                if not checkpoint.suspects:
                    raise
                checkpoint.trouble.append(str(error))
                return checkpoint
            look = max(look * 32, error.needed)
    checkpoint.suspects = _suspects(found)
    checkpoint.trouble = [line for walk in found for line in walk.trouble] + rebuilder.trouble
    _take(checkpoint, found, rebuilder, file)
    return checkpoint


def _suspects(found: list[Walked]) -> list[Suspect]:
    return [suspect for walk in found for suspect in walk.suspects]


def _take(checkpoint: Checkpoint, found: list[Walked], rebuilder: Rebuilder, file: BinaryIO) -> None:
    """Put what the pickles hold where it belongs."""
    values = [walk.root for walk in found]
    if values[0] != MAGIC and not checkpoint.suspects:
        raise Unreadable("not what torch.save wrote before 1.6: another magic number")
    checkpoint.version = shown(str(values[1])) if len(values) > 1 and type(values[1]) is int else None
    system = values[2] if len(values) > 2 else None
    if isinstance(system, dict) and system.get("little_endian") is False:
        checkpoint.notes.append("written on a big-endian machine")
    checkpoint.root = values[3] if len(values) > 3 else None
    checkpoint.notes += found[3].notes if len(found) > 3 else []
    keys = values[4] if len(values) > 4 else None
    if isinstance(keys, list):
        names = [str(key) for key in keys if type(key) in (str, int)]
        places = _storages(file, found[-1].end, checkpoint.size, names, rebuilder)
        checkpoint.trouble += capped(places)
    elif not checkpoint.trouble:
        checkpoint.trouble.append("the list of its storages is missing")


def _storages(file: BinaryIO, at: int, size: int, keys: list[str], rebuilder: Rebuilder) -> Iterator[str]:
    """Walk over the storages: each is its number of elements, then its bytes."""
    for key in keys:
        storage = rebuilder.storages.get(key)
        if storage is None:
            yield f"storage {shown(key)} is there and no tensor asks for it"
            return
        file.seek(at)
        head = file.read(8)
        if len(head) < 8:
            yield f"the file ends before storage {shown(key)} ({storage.size} bytes)"
            return
        elements = int.from_bytes(head, "little", signed=True)
        if elements != storage.elements:
            yield f"storage {shown(key)} has {elements} elements, and its tensors need {storage.elements}"
            return
        at += 8 + storage.size
        if at > size:
            yield f"storage {shown(key)} is cut off: {at - size} of its {storage.size} bytes are missing"
            return
    for key in rebuilder.storages.keys() - set(keys):
        yield f"storage {shown(key)} is not in the file"
