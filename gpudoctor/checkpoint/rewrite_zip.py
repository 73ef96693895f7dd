"""Copy a zip file of ``torch.save`` record by record, with a new pickle."""

from typing import Protocol

from gpudoctor.checkpoint.archive import ALIGNMENT, Archive, records
from gpudoctor.checkpoint.blocks import Target, exactly
from gpudoctor.checkpoint.emit import Emitter
from gpudoctor.checkpoint.mend import Changes
from gpudoctor.checkpoint.rewrite_safetensors import TensorsCopy
from gpudoctor.checkpoint.tree import Checkpoint, Unreadable

OVERHEAD = 512
"""Bytes around a record, at most, for the estimate of a copy's size."""
ALIGNMENT_MOST = 1 << 15
"""The padding's length is a number of 16 bits."""


class Copy(Protocol):
    """A copy that is ready to be written."""

    moved: int
    size: int

    def write(self, target: Target) -> None:
        """Write it; raises `Unreadable` where the original's bytes are not there."""


class ZipSource:
    """A zip file that copies are made of; raises `Unreadable` where its records are not whole."""

    def __init__(self, checkpoint: Checkpoint, descriptor: int) -> None:
        self.checkpoint, self.descriptor = checkpoint, descriptor
        self.records = {record.name: record for record in records(checkpoint.path, descriptor)}
        pickles = [name for name in self.records if name.endswith("/data.pkl")]
        self.entry = min(pickles, key=lambda name: name.count("/"))
        self.top = self.entry.removesuffix("data.pkl")

    def copy(self, changes: Changes, form: str) -> Copy:
        """Return the copy that has the checkpoint's tree as it is now."""
        if form == "safetensors":
            return TensorsCopy(self.checkpoint.root, self.descriptor, self.places())
        return ZipCopy(self, changes)

    def places(self) -> dict[str, int]:
        """Return where the bytes of each storage begin; raises `Unreadable` where they are not there as they are."""
        if self.text("byteorder") not in ("", "little"):
            raise Unreadable("written on a big-endian machine: safetensors is little-endian")
        found = {}
        for name, record in self.records.items():
            if name.startswith(f"{self.top}data/"):
                if record.method:
                    raise Unreadable(f"the record {name} is packed, which torch does not do")
                found[name.removeprefix(f"{self.top}data/")] = record.at
        return found

    def text(self, name: str) -> str:
        """Return a small record, empty where there is none."""
        record = self.records.get(self.top + name)
        if record is None or record.method or record.size > OVERHEAD:
            return ""
        return exactly(self.descriptor, record.at, record.size).decode("utf-8", "replace").strip()

    def protocol(self) -> int:
        """Return the pickle's protocol."""
        record = self.records[self.entry]
        begin = exactly(self.descriptor, record.at, min(2, record.size))
        return begin[1] if begin[:1] == b"\x80" and not record.method else 2


class ZipCopy:
    """A zip file with a new pickle and another's records."""

    def __init__(self, source: ZipSource, changes: Changes) -> None:
        self.source, self.fewer = source, changes.fewer
        # torch takes the storages' places from their order alone, beginning with 0, where it may.
        emitter = Emitter(source.protocol(), device=changes.device, renumber=changes.fewer)
        self.pickle = emitter.pickle(source.checkpoint.root)
        self.storages, self.moved = emitter.storages, len(emitter.moved)
        data = f"{source.top}data/"
        kept = [
            record.size + len(record.name) + OVERHEAD
            for name, record in source.records.items()
            if not (self.fewer and name.startswith(data)) or name.removeprefix(data) in self.storages
        ]
        self.size = sum(kept) + len(self.pickle)

    def write(self, target: Target) -> None:
        """Write the records in the original's order; of storages those alone that the new pickle asks for."""
        source, data = self.source, f"{self.source.top}data/"
        alignment = source.text(".storage_alignment")
        aligned = int(alignment) if alignment.isdecimal() and len(alignment) < 6 else ALIGNMENT
        archive = Archive(target, aligned if 0 < aligned <= ALIGNMENT_MOST else ALIGNMENT)
        stored = False
        for name, record in source.records.items():
            if name == source.entry:
                archive.add(name, self.pickle)
            elif not (self.fewer and name.startswith(data)):
                archive.copy(record, source.descriptor)
            elif not stored:
                stored = True
                for key, new in self.storages.items():
                    archive.copy(source.records[data + key], source.descriptor, data + new)
        archive.close()
