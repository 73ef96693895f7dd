"""Read what ``torch.save`` writes since 1.6: a zip file with one pickle and a record for each storage."""

import zipfile
from typing import BinaryIO

from gpudoctor.checkpoint.opcodes import Walker, suspects
from gpudoctor.checkpoint.rebuild import Rebuilder, allowed
from gpudoctor.checkpoint.tree import Checkpoint, Storage, Unreadable

PICKLE_MOST = 1 << 29
"""Bytes of the pickle: a checkpoint of a million tensors has a fifth of that."""
SMALL = 4096


def read_zip(file: BinaryIO, path: str, size: int) -> Checkpoint:
    """Read an archive; raises `Unreadable` where its directory or its pickle is broken."""
    archive = open_archive(file)
    names = {info.filename: info for info in archive.infolist()}
    pickles = [name for name in names if name.endswith("/data.pkl")]
    if not pickles:
        raise Unreadable("a zip file without data.pkl: not from torch.save")
    entry = min(pickles, key=lambda name: name.count("/"))
    top = entry.removesuffix("data.pkl")
    data = record(archive, names[entry], PICKLE_MOST)
    rebuilder = Rebuilder()
    walker = Walker(data, make=rebuilder.make, persistent=rebuilder.storage)
    checkpoint = Checkpoint(
        path=path, kind="torch zip", version=_text(archive, names.get(f"{top}version")), size=size
    )
    checkpoint.root = walker.walk()
    checkpoint.suspects = suspects(walker, entry, allowed)
    if f"{top}constants.pkl" in names or any(name.startswith(f"{top}code/") for name in names):
        checkpoint.kind = "torchscript"
        # TorchScript's own classes, which are compiled from code/ and are no Python.
        checkpoint.suspects = [s for s in checkpoint.suspects if not s.name.startswith("__torch__")]
    order = _text(archive, names.get(f"{top}byteorder"))
    if order and order != "little":
        checkpoint.notes.append(f"written on a {order}-endian machine")
    checkpoint.trouble = list(_trouble(names, top, rebuilder.storages.values(), size))
    return checkpoint


def open_archive(file: BinaryIO) -> zipfile.ZipFile:
    """Open a zip file's directory; raises `Unreadable`."""
    try:
        return zipfile.ZipFile(file)
    except (zipfile.BadZipFile, OSError, ValueError, EOFError, OverflowError, NotImplementedError) as error:
        raise Unreadable(f"a damaged zip file: {error}") from None


def record(archive: zipfile.ZipFile, info: zipfile.ZipInfo, most: int) -> bytes:
    """Return one record, up to `most` bytes; raises `Unreadable`."""
    if info.file_size > most:
        raise Unreadable(f"{info.filename} claims {info.file_size} bytes: more than a checkpoint has there")
    try:
        with archive.open(info) as stream:
            data = stream.read(most + 1)
    except (
        zipfile.BadZipFile,
        OSError,
        EOFError,
        ValueError,
        RuntimeError,
        NotImplementedError,
        KeyError,
    ) as error:
        raise Unreadable(f"{info.filename} cannot be read: {error}") from None
    if len(data) > most:
        raise Unreadable(f"{info.filename} unpacks to more than {most} bytes")
    return data


def _text(archive: zipfile.ZipFile, info: zipfile.ZipInfo | None) -> str | None:
    return record(archive, info, SMALL).decode("utf-8", "replace").strip() if info is not None else None


def _trouble(names: dict[str, zipfile.ZipInfo], top: str, storages: "list[Storage]", size: int):  # type: ignore[no-untyped-def]
    """Say which storages the pickle asks for and the archive does not have whole, and what an archive must not hold."""
    for storage in storages:
        info = names.get(f"{top}data/{storage.key}")
        if info is None:
            yield f"storage {storage.key} ({storage.size} bytes) is missing: no record {top}data/{storage.key}"
        elif info.file_size != storage.size:
            yield f"storage {storage.key} has {info.file_size} bytes, and its tensors need {storage.size}"
    end = 0
    for info in sorted(names.values(), key=lambda info: info.header_offset):
        if info.filename.startswith("/") or ".." in info.filename.split("/"):
            yield f"a record is named {info.filename!r}, which points out of the archive"
        if info.header_offset < end or info.header_offset + info.compress_size > size:
            yield f"the record {info.filename} lies over another one, or beyond the end of the file"
        end = info.header_offset + info.compress_size
