"""Copy a file that ``torch.save`` wrote before 1.6, with a new pickle, or make a zip file of it."""

from typing import Any

from gpudoctor.checkpoint.formats.zip_writer import ALIGNMENT, Archive
from gpudoctor.checkpoint.pickle.machine import Broken, Machine
from gpudoctor.checkpoint.pickle.torch_tensors import Rebuilder
from gpudoctor.checkpoint.pickle.write import Emitter, emit
from gpudoctor.checkpoint.repair.copy_safetensors import TensorsCopy
from gpudoctor.checkpoint.repair.copy_zip import OVERHEAD, Copy
from gpudoctor.checkpoint.repair.edit import Changes
from gpudoctor.checkpoint.repair.whole_file import Target, exactly
from gpudoctor.checkpoint.tree import Checkpoint, Unreadable

BEGIN = 1 << 20
"""Bytes in which the pickles are looked for first; eight times as many each time they are longer."""
TOP = "archive/"
COUNT = 8
"""Bytes of the number of elements in front of a storage."""


class LegacySource:
    """A file in the old format that copies are made of; raises `Unreadable` where it is not whole."""

    def __init__(self, checkpoint: Checkpoint, descriptor: int) -> None:
        self.checkpoint, self.descriptor = checkpoint, descriptor
        data, ends, self.keys, storages = _walk(descriptor, checkpoint.size)
        self.head = data[: ends[2]]
        """The three pickles in front: the magic number, the version, the system."""
        self.tail = data[ends[3] : ends[4]]
        """The pickle behind: the storages' keys in the order of their bytes."""
        self.protocol = data[ends[2] + 1] if data[ends[2]] == 0x80 else 2
        self.storages: dict[str, tuple[int, int]] = {}
        at = ends[4]
        for key in map(str, self.keys):
            if key not in storages:
                raise Unreadable(f"storage {key} is there and no tensor asks for it")
            self.storages[key] = (at, storages[key].size)
            at += COUNT + storages[key].size

    def copy(self, changes: Changes, form: str) -> Copy:
        """Return the copy that has the checkpoint's tree as it is now."""
        if form == "safetensors":
            places = {key: at + COUNT for key, (at, _) in self.storages.items()}
            return TensorsCopy(self.checkpoint.root, self.descriptor, places)
        return LegacyCopy(self, changes) if form == self.checkpoint.kind else UnpackedCopy(self, changes)


class LegacyCopy:
    """A file in the old format with a new pickle and another's storages."""

    def __init__(self, source: LegacySource, changes: Changes) -> None:
        self.source = source
        emitter = Emitter(source.protocol, device=changes.device)
        pickle = emitter.pickle(source.checkpoint.root)
        keys, tail = source.keys, source.tail
        if changes.fewer:
            keys = [key for key in keys if str(key) in emitter.storages]
            tail = emit(keys, source.protocol)
        self.begin = source.head + pickle + tail
        self.kept = [source.storages[str(key)] for key in keys]
        self.moved = len(emitter.moved)
        self.size = len(self.begin) + sum(COUNT + size for _, size in self.kept)

    def write(self, target: Target) -> None:
        """Write it; raises `Unreadable` where the original's bytes are not there."""
        target.write(self.begin)
        for at, size in self.kept:
            target.copy(self.source.descriptor, at, COUNT + size)


class UnpackedCopy:
    """A zip file as torch writes it today, of an old file's storages, whose checksums are made on the way."""

    def __init__(self, source: LegacySource, changes: Changes) -> None:
        self.source = source
        emitter = Emitter(source.protocol, device=changes.device, renumber=True, archive=True)
        self.pickle = emitter.pickle(source.checkpoint.root)
        self.storages, self.moved = emitter.storages, len(emitter.moved)
        sizes = [source.storages[key][1] for key in self.storages]
        self.size = len(self.pickle) + sum(sizes) + OVERHEAD * (len(sizes) + 8)

    def write(self, target: Target) -> None:
        """Write it; raises `Unreadable` where the original's bytes are not there."""
        archive = Archive(target)
        archive.add(f"{TOP}data.pkl", self.pickle)
        archive.add(f"{TOP}.format_version", b"1")
        archive.add(f"{TOP}.storage_alignment", b"%d" % ALIGNMENT)
        archive.add(f"{TOP}byteorder", b"little")  # the old format knows no other
        for key, new in self.storages.items():
            at, size = self.source.storages[key]
            archive.copy_bytes(f"{TOP}data/{new}", self.source.descriptor, at + COUNT, size)
        archive.add(f"{TOP}version", b"3\n")
        archive.close()


def _walk(descriptor: int, size: int) -> tuple[bytes, list[int], list[Any], dict[str, Any]]:
    """Return the beginning of the file, the ends of its five pickles in it, the keys and the storages."""
    length = BEGIN
    while True:
        length = min(length, size)
        data = exactly(descriptor, 0, length)
        rebuilder, value = Rebuilder(), None
        ends: list[int] = []
        try:
            for _ in range(5):
                machine = Machine(
                    data, ends[-1] if ends else 0, make=rebuilder.make, persistent=rebuilder.storage
                )
                value = machine.walk()
                ends.append(machine.at)
            if not isinstance(value, list):
                raise Unreadable("not what torch.save wrote before 1.6")
            return data[: ends[-1]], ends, value, rebuilder.storages
        except Broken:
            if length == size:
                raise
            length *= 8
