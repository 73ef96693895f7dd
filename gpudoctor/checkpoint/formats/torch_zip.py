"""Read what ``torch.save`` writes since 1.6: a zip file with one pickle and a record for each storage."""

import contextlib
from collections.abc import Collection, Iterator
from typing import BinaryIO

from gpudoctor.checkpoint.formats.zip_reader import STORED, Record, contents, data_place, directory
from gpudoctor.checkpoint.pickle.load import PICKLE_MOST, load
from gpudoctor.checkpoint.pickle.torch_tensors import Rebuilder
from gpudoctor.checkpoint.tree import Checkpoint, Storage, Unreadable
from gpudoctor.facts.checkpoint_file import Format
from gpudoctor.text import capped, shown

WORD_MOST = 4096
SCRIPT_PACKAGES = ("__torch__", "torch.jit._pickle")
"""Packages that TorchScript's own reader knows; it is no Python, and imports nothing."""
UNSUMMED = "saved without checksums (torch.serialization.set_crc32_options(False)): damage cannot be told"
OLD_SCRIPT = "a TorchScript archive of torch 1.0 to 1.3: load it with torch.jit.load and save it again"


def read_zip(file: BinaryIO, path: str, size: int) -> Checkpoint:
    """Read an archive; raises `Unreadable` where its directory or its pickle is broken."""
    listed = directory(file, size)
    names = {entry.name: entry for entry in listed}
    top, trouble = top_of(listed[0].name if listed else "", names)
    name = f"{top}data.pkl"
    if sum(entry.name.lower() == name.lower() for entry in listed) > 1:
        raise Unreadable(f"two records are named {shown(name)}, and which one torch reads cannot be told")
    rebuilder = Rebuilder()
    found = load(contents(file, names[name], PICKLE_MOST, trouble), name, rebuilder)
    version = _text(file, names.get(f"{top}version"), trouble)
    checkpoint = Checkpoint(path=path, kind=Format.TORCH_ZIP, version=version, size=size)
    checkpoint.root, checkpoint.suspects, checkpoint.notes = found.root, found.suspects, found.notes
    if f"{top}constants.pkl" in names:  # by which torch.load tells them
        checkpoint.kind = Format.TORCHSCRIPT
        checkpoint.suspects = [s for s in found.suspects if not s.name.startswith(SCRIPT_PACKAGES)]
    order = _text(file, names.get(f"{top}byteorder"), trouble)
    if order == "big":
        checkpoint.notes.append("written on a big-endian machine")
    elif order not in (None, "little"):
        trouble.append(f"the record byteorder says {order!r}, neither little nor big")
    if listed and not any(entry.crc for entry in listed):
        checkpoint.notes.append(UNSUMMED)
    trouble += found.trouble + rebuilder.trouble
    trouble += capped(_missing_storages(names, top, rebuilder.storages.values()))
    checkpoint.trouble = trouble + capped(_odd_records(listed, size))
    return checkpoint


def top_of(first: str, names: Collection[str]) -> tuple[str, list[str]]:
    """Return the folder that the archive's records are in, and a line where that is odd: for torch the `first` one's.

    Raises `Unreadable` where there is none.
    """
    top = first[: first.find("/") + 1]
    if top and f"{top}data.pkl" in names:
        return top, []
    pickles = [name for name in names if name == "data.pkl" or name.endswith("/data.pkl")]
    if not pickles:
        if any(name.endswith("model.json") for name in names):
            raise Unreadable(OLD_SCRIPT)
        if any(name.endswith((".data/extern_modules", ".data/version")) for name in names):
            raise Unreadable("a torch.package archive: it is imported with torch.package, not loaded")
        raise Unreadable("a zip file without data.pkl: not from torch.save")
    name = min(pickles, key=lambda name: name.count("/"))
    return name.removesuffix("data.pkl"), [
        f"torch looks for {shown(top)}data.pkl, and there is only {shown(name)}"
    ]


def _text(file: BinaryIO, entry: Record | None, trouble: list[str]) -> str | None:
    """Return a record that holds a word or a number."""
    if entry is None:
        return None
    return shown(contents(file, entry, WORD_MOST, trouble).decode("utf-8", "replace").strip())


def _missing_storages(names: dict[str, Record], top: str, storages: Collection[Storage]) -> Iterator[str]:
    """Say which storages the pickle asks for and the archive does not have whole."""
    for storage in storages:
        entry = names.get(f"{top}data/{storage.key}")
        if entry is None:
            name = shown(f"{top}data/{storage.key}")
            yield f"storage {shown(storage.key)} ({storage.size} bytes) is missing: no record {name}"
        elif entry.size != storage.size:
            yield f"storage {shown(storage.key)} has {entry.size} bytes, and its tensors need {storage.size}"


def _odd_records(listed: list[Record], size: int) -> Iterator[str]:
    """Say what an archive of torch never has: names that lead out of it, and records that lie over others."""
    end, before = 0, ""
    for entry in sorted(listed, key=lambda entry: entry.header):
        name = entry.name
        if name[:1] in ("/", "\\") or (".." in name and ".." in name.replace("\\", "/").split("/")):
            yield f"a record is named {shown(name)}, which leads out of the archive"
        if entry.header < end:
            yield f"the record {shown(name)} lies over {shown(before)}"
        if entry.method == 0 and entry.packed != entry.size:
            yield f"the record {shown(name)} claims {entry.size} bytes and takes {entry.packed}"
        end, before = entry.header + 30 + len(name) + entry.packed, name
        if end > size:
            yield f"the record {shown(name)} goes beyond the end of the file"
    if len({entry.name.lower() for entry in listed}) < len(listed):
        yield "two records have the same name"


def storage_places(file: BinaryIO, size: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield by its key where each storage's bytes begin, and how many there are; torch stores them as they are."""
    for entry in directory(file, size):
        top, data, key = entry.name.rpartition("/data/")
        if data and "/" not in top and entry.method == STORED and entry.packed == entry.size:
            with contextlib.suppress(Unreadable):  # a tensor that has no record is told as not found
                yield key, (data_place(file, entry, []), entry.size)
