"""Copy a zip file of ``torch.save`` record by record, with a new pickle."""

import os
from typing import Protocol

from gpudoctor.checkpoint.formats.torch_zip import top_of
from gpudoctor.checkpoint.formats.zip_reader import records
from gpudoctor.checkpoint.pickle.write import Emitter
from gpudoctor.checkpoint.repair.copy_safetensors import TensorsCopy
from gpudoctor.checkpoint.repair.edit import Changes
from gpudoctor.checkpoint.repair.whole_file import Target, exactly
from gpudoctor.checkpoint.repair.zip_writer import ALIGNMENT, Archive
from gpudoctor.checkpoint.tree import Checkpoint, Unreadable
from gpudoctor.facts.checkpoint_file import Format
from gpudoctor.text import shown

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
        with open(os.dup(descriptor), "rb") as file:
            listed = records(file, os.fstat(descriptor).st_size)
        self.top, _ = top_of(next(iter(listed), ""), listed)
        self.entry = f"{self.top}data.pkl"
        self.records = dict(sorted(listed.items(), key=lambda item: item[1][1]))
        """By their names: each with its place, in the order of their bytes."""
        outside = [name for name in self.records if not name.startswith(self.top)]
        if outside:  # torch takes the first record's folder for the archive's, and a copy has another first
            raise Unreadable(f"the record {shown(outside[0])} is outside of the folder {shown(self.top)}")
        self.alignment = self._alignment()

    def copy(self, changes: Changes, form: Format) -> Copy:
        """Return the copy that has the checkpoint's tree as it is now."""
        if form == Format.SAFETENSORS:
            return TensorsCopy(self.checkpoint.root, self.descriptor, self.places())
        return ZipCopy(self, changes)

    def places(self) -> dict[str, int]:
        """Return where the bytes of each storage begin; raises `Unreadable` where they are not there as they are."""
        if self.text("byteorder") not in ("", "little"):
            raise Unreadable("written on a big-endian machine: safetensors is little-endian")
        found = {}
        for name, (record, at) in self.records.items():
            if name.startswith(f"{self.top}data/"):
                if record.method:
                    raise Unreadable(f"the record {shown(name)} is packed, which torch does not do")
                found[name.removeprefix(f"{self.top}data/")] = at
        return found

    def _alignment(self) -> int:
        """Return to what number of bytes records are aligned, by which torch may compute where they are."""
        said = self.text(".storage_alignment")
        if not said:
            return ALIGNMENT
        if not said.isdecimal() or not 0 < int(said[:9]) <= ALIGNMENT_MOST:
            raise Unreadable(
                f"its storages are aligned to {shown(said)} bytes, which a copy is not: load and save it"
            )
        return int(said)

    def text(self, name: str) -> str:
        """Return a small record, empty where there is none."""
        record, at = self.records.get(self.top + name, (None, 0))
        if record is None or record.method or record.packed > OVERHEAD:
            return ""
        return exactly(self.descriptor, at, record.packed).decode("utf-8", "replace").strip()

    def protocol(self) -> int:
        """Return the pickle's protocol."""
        record, at = self.records[self.entry]
        begin = exactly(self.descriptor, at, min(2, record.packed))
        return begin[1] if begin[:1] == b"\x80" and not record.method else 2


class ZipCopy:
    """A zip file with a new pickle and another's records."""

    def __init__(self, source: ZipSource, changes: Changes) -> None:
        self.source = source
        # torch takes the storages' places from their order alone, beginning with 0, where it may.
        emitter = Emitter(source.protocol(), device=changes.device, renumber=changes.fewer)
        self.pickle = emitter.pickle(source.checkpoint.root)
        self.moved = len(emitter.moved)
        data = f"{source.top}data/"
        storages = [(data + key, data + new) for key, new in emitter.storages.items()]
        self.names: list[tuple[str, str]] = []
        """Of the records in the original's order; of storages those alone that the new pickle asks for."""
        for name in source.records:
            if changes.fewer and name.startswith(data):
                self.names += storages
                storages = []
            else:
                self.names.append((name, name))
        sizes = [source.records[name][0].packed + len(name) + OVERHEAD for name, _ in self.names]
        self.size = sum(sizes) + len(self.pickle)

    def write(self, target: Target) -> None:
        """Write it; raises `Unreadable` where the original's bytes are not there."""
        archive = Archive(target, self.source.alignment)
        for name, new in self.names:
            record, at = self.source.records[name]
            if name == self.source.entry:
                archive.add(name, self.pickle)
            else:
                archive.copy(record, self.source.descriptor, at, new)
        archive.close()
