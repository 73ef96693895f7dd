"""Copy a file that ``torch.save`` wrote before 1.6, with a new pickle, or make a zip file of it."""

import os

from gpudoctor.checkpoint.formats.torch_legacy import COUNT, read_front, storages
from gpudoctor.checkpoint.pickle.write import Emitter, emit
from gpudoctor.checkpoint.repair.copy_safetensors import TensorsCopy
from gpudoctor.checkpoint.repair.copy_zip import OVERHEAD, Copy
from gpudoctor.checkpoint.repair.edit import Changes
from gpudoctor.checkpoint.repair.whole_file import Target
from gpudoctor.checkpoint.repair.zip_writer import ALIGNMENT, Archive
from gpudoctor.checkpoint.tree import Checkpoint, Unreadable
from gpudoctor.facts.checkpoint_file import Format

TOP = "archive/"


class LegacySource:
    """A file in the old format that copies are made of; raises `Unreadable` where it is not whole."""

    def __init__(self, checkpoint: Checkpoint, descriptor: int) -> None:
        self.checkpoint, self.descriptor = checkpoint, descriptor
        with open(os.dup(descriptor), "rb") as file:
            front = read_front(file, checkpoint.size)
            if front.keys is None:
                raise Unreadable("not what torch.save wrote before 1.6")
            self.keys = front.keys
            self.storages = dict(storages(file, checkpoint.size, front))
        _, _, begin, end, close = (pickle.end for pickle in front.pickles)
        self.head = front.data[:begin]
        """The three pickles in front: the magic number, the version, the system."""
        self.tail = front.data[end:close]
        """The pickle behind: the storages' keys in the order of their bytes."""
        self.protocol = front.data[begin + 1] if front.data[begin] == 0x80 else 2

    def copy(self, changes: Changes, form: Format) -> Copy:
        """Return the copy that has the checkpoint's tree as it is now."""
        if form == Format.SAFETENSORS:
            places = {key: at for key, (at, _) in self.storages.items()}
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
            target.copy(self.source.descriptor, at - COUNT, COUNT + size)


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
            archive.copy_bytes(f"{TOP}data/{new}", self.source.descriptor, at, size)
        archive.add(f"{TOP}version", b"3\n")
        archive.close()
