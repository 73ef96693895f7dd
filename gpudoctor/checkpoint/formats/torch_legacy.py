"""Read what ``torch.save`` wrote before 1.6: a magic number, several pickles in a row, and the storages behind them."""

import contextlib
from collections.abc import Iterator
from typing import BinaryIO

from msgspec import Struct

from gpudoctor.checkpoint.pickle.load import PICKLE_MOST, Loaded, load
from gpudoctor.checkpoint.pickle.torch_tensors import Rebuilder
from gpudoctor.checkpoint.tree import Checkpoint, Ended, Unreadable
from gpudoctor.facts.checkpoint_file import Foreign, Format
from gpudoctor.text import capped, shown

MAGIC = 0x1950A86A20F9469CFC6C
"""torch/serialization.py."""
FIRST_LOOK = 1 << 20
"""Bytes in which most files have all their pickles; behind them are gigabytes of storages."""
PICKLES = ("magic number", "protocol version", "system", "pickle", "storage keys")
COUNT = 8
"""Bytes in front of a storage: the number of its elements."""


class Front(Struct, frozen=True):
    """What stands before the storages."""

    data: bytes
    """The beginning of the file, to behind the pickles at least."""
    pickles: list[Loaded]
    """Those of `PICKLES`, up to the first that breaks off, which has nothing but trouble."""
    rebuilder: Rebuilder
    """Made the tensors, and knows their storages."""

    @property
    def suspects(self) -> list[Foreign]:
        """What loading the pickles would import or call."""
        return [suspect for pickle in self.pickles for suspect in pickle.suspects]

    @property
    def keys(self) -> list[str | int] | None:
        """The storages' keys in the order of their bytes; ``None`` where there is no list of them."""
        keys = self.pickles[4].root if len(self.pickles) > 4 else None
        return [key for key in keys if type(key) in (str, int)] if isinstance(keys, list) else None


def is_legacy(begin: bytes) -> bool:
    """Return whether a file begins as the legacy format does: with a pickle of the magic number."""
    return MAGIC.to_bytes(10, "little") in begin[:32]


def read_legacy(file: BinaryIO, path: str, size: int) -> Checkpoint:
    """Read the pickles, and see whether the storages are all there; raises `Unreadable`."""
    front = read_front(file, size)
    checkpoint = Checkpoint(path=path, kind=Format.TORCH_LEGACY, size=size, suspects=front.suspects)
    checkpoint.trouble = [line for pickle in front.pickles for line in pickle.trouble]
    checkpoint.trouble += front.rebuilder.trouble
    values = [pickle.root for pickle in front.pickles]
    if values[0] != MAGIC and not checkpoint.suspects:
        raise Unreadable("not what torch.save wrote before 1.6: another magic number")
    checkpoint.version = shown(str(values[1])) if len(values) > 1 and type(values[1]) is int else None
    system = values[2] if len(values) > 2 else None
    if isinstance(system, dict) and system.get("little_endian") is False:
        checkpoint.notes.append("written on a big-endian machine")
    if len(values) > 3:
        checkpoint.root = values[3]
        checkpoint.notes += front.pickles[3].notes
    if front.keys is not None:
        checkpoint.trouble += capped(_storage_trouble(file, size, front))
    elif not checkpoint.trouble:
        checkpoint.trouble.append("the list of its storages is missing")
    return checkpoint


def read_front(file: BinaryIO, size: int) -> Front:
    """Read the pickles of a file of `size` bytes; raises `Unreadable` where they are damaged and harmless."""
    look = FIRST_LOOK
    while True:
        file.seek(0)
        data = file.read(min(look, size, PICKLE_MOST))
        whole = len(data) >= min(size, PICKLE_MOST) or len(data) < look
        rebuilder = Rebuilder()
        front = Front(data, [], rebuilder)
        try:
            for entry in PICKLES:
                start = front.pickles[-1].end if front.pickles else 0
                front.pickles.append(load(data, entry, rebuilder, start, report=whole))
                if front.pickles[-1].trouble:
                    break
            return front
        except Ended as error:
            if whole or error.needed > size:
                if not front.suspects:
                    raise
                front.pickles.append(Loaded(None, [], [str(error)], len(data), 0))
                return front
            look = max(look * 32, error.needed)


def storages(file: BinaryIO, size: int, front: Front) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield by its key, in the order of the file, where each storage's bytes begin, and how many there are.

    The number of its elements stands before. Raises `Unreadable` at the first that is not as the tensors need it.
    """
    at = front.pickles[-1].end
    for key in map(str, front.keys or ()):
        storage = front.rebuilder.storages.get(key)
        if storage is None:
            raise Unreadable(f"storage {shown(key)} is there and no tensor asks for it")
        file.seek(at)
        head = file.read(COUNT)
        if len(head) < COUNT:
            raise Unreadable(f"the file ends before storage {shown(key)} ({storage.size} bytes)")
        elements = int.from_bytes(head, "little", signed=True)
        if elements != storage.elements:
            raise Unreadable(
                f"storage {shown(key)} has {elements} elements, and its tensors need {storage.elements}"
            )
        end = at + COUNT + storage.size
        if end > size:
            raise Unreadable(
                f"storage {shown(key)} is cut off: {end - size} of its {storage.size} bytes are missing"
            )
        yield key, (at + COUNT, storage.size)
        at = end


def _storage_trouble(file: BinaryIO, size: int, front: Front) -> Iterator[str]:
    """Say which storage is not there whole, or which are not there at all."""
    try:
        missing = front.rebuilder.storages.keys() - dict(storages(file, size, front))
    except Unreadable as error:
        yield str(error)
    else:
        yield from (f"storage {shown(key)} is not in the file" for key in missing)


def storage_places(file: BinaryIO, size: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the `storages` up to one that is wrong; raises `Unreadable` where the pickles are damaged."""
    front = read_front(file, size)
    with contextlib.suppress(Unreadable):
        yield from storages(file, size, front)
