"""Read the folder of a distributed checkpoint by its ``.metadata``, and see whether its files hold what that says."""

import io
import math
import os
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from msgspec.structs import replace

from gpudoctor.checkpoint.formats.contiguous import contiguous_tensor
from gpudoctor.checkpoint.formats.distributed_metadata import Metadata, StorageInfo, parse
from gpudoctor.checkpoint.formats.file_set import apart, opened, plain
from gpudoctor.checkpoint.formats.torch_zip import read_zip
from gpudoctor.checkpoint.tree import WIDTHS, Checkpoint, Unreadable
from gpudoctor.facts.checkpoint_file import Format
from gpudoctor.text import capped, count, listed, shown

METADATA_MOST = 1 << 29
"""Bytes of ``.metadata``; one of a million chunks has a third of that."""


def read_distributed(path: str) -> Checkpoint:
    """Read a folder's ``.metadata``, and the values in its files that are no tensors; raises `Unreadable`.

    The root is a flat dict: the keys are joined with dots, as ``torch.distributed.checkpoint`` joins them. A tensor of
    several chunks is one tensor. Loading runs ``.metadata`` and those values as unrestricted pickles, so both are
    searched for suspects.
    """
    file, size = opened(path, ".metadata")
    with file:
        data = file.read(METADATA_MOST + 1)
    if len(data) > METADATA_MOST:
        raise Unreadable(f".metadata has more than {METADATA_MOST} bytes")
    metadata = parse(data)
    checkpoint = Checkpoint(
        path=path, kind=Format.DISTRIBUTED, version=metadata.version, size=size, suspects=metadata.suspects
    )
    root: dict[str, Any] = dict.fromkeys(metadata.keys)
    for key, entry in metadata.keys.items():
        if entry is not None:
            root[key] = contiguous_tensor(key, entry.dtype, entry.shape, requires_grad=entry.requires_grad)
    trouble = capped(_chunk_trouble(metadata))
    for name, parts in _by_file(metadata).items():
        trouble += _file(path, name, parts, checkpoint, root)
    checkpoint.root, checkpoint.trouble = root, capped(trouble)
    checkpoint.notes = capped(_notes(path, metadata))
    return checkpoint


def _by_file(metadata: Metadata) -> dict[str, list[tuple[StorageInfo, str]]]:
    """Return what the metadata says is in each file, with its key, in the order of the file."""
    parts: dict[str, list[tuple[StorageInfo, str]]] = {}
    for (key, _), held in metadata.stored.items():
        parts.setdefault(plain(held.file), []).append((held, key))
    for held_parts in parts.values():
        held_parts.sort(key=lambda part: (part[0].offset, part[0].length))
    return parts


def _chunk_trouble(metadata: Metadata) -> Iterator[str]:
    """Say which tensors and values no file holds, or holds only in part."""
    nowhere = []
    for key, entry in metadata.keys.items():
        if entry is None:
            nowhere += [key] if (key, None) not in metadata.stored else []
            continue
        covered = sum(math.prod(chunk.sizes) for chunk in entry.chunks)
        if covered != math.prod(entry.shape):
            yield f"{shown(key)} has {math.prod(entry.shape)} elements, and its chunks have {covered}"
        for chunk in entry.chunks:
            box = tuple(zip(chunk.offsets, chunk.sizes, entry.shape, strict=False))
            if len(box) != len(entry.shape) or any(begin + size > most for begin, size, most in box):
                yield f"a chunk of {shown(key)} lies outside of the tensor"
            held = metadata.stored.get((key, chunk.offsets))
            if held is None:
                nowhere.append(key)
            elif not held.transformed and held.length < math.prod(chunk.sizes) * WIDTHS.get(entry.dtype, 0):
                yield f"a chunk of {shown(key)} has {held.length} bytes in {shown(held.file)}: too few"
    if nowhere:
        yield f".metadata names no file for {count(len(nowhere), 'part')}: {listed(nowhere)}"


def _file(
    folder: str, name: str, parts: list[tuple[StorageInfo, str]], checkpoint: Checkpoint, root: dict[str, Any]
) -> list[str]:
    """Look into one file: is it long enough, and what do its values hold? Returns the trouble with it."""
    keys = [key for _, key in parts]
    try:
        file, size = opened(folder, name)
    except Unreadable as error:
        return [f"{shown(name)}: {error} ({count(len(keys), 'part')}: {listed(keys)})"]
    with file:
        checkpoint.size += size
        cut = [key for held, key in parts if held.offset + held.length > size]
        trouble = []
        if cut:
            end = max(held.offset + held.length for held, _ in parts)
            what = f"{count(len(cut), 'part')} cut off: {listed(cut)}"
            trouble.append(f"{shown(name)} has {size} bytes, and .metadata says at least {end} ({what})")
        end = 0
        for held, key in parts:
            if held.offset < end:
                trouble.append(f"{shown(name)}: the part of {shown(key)} lies over another one")
            elif held.offset + held.length <= size and key in root and root[key] is None:
                trouble += _value(file, held, key, checkpoint, root)
            end = max(end, held.offset + held.length)
    return capped(trouble)


def _value(
    file: BinaryIO, held: StorageInfo, key: str, checkpoint: Checkpoint, root: dict[str, Any]
) -> Iterator[str]:
    """Read a value that is no tensor: torch.save wrote it, and loading it is an unrestricted unpickling."""
    if held.transformed:
        return  # told in the notes
    part = cast(BinaryIO, io.BufferedReader(Stretch(file, held.offset, held.length)))
    try:
        value = read_zip(part, key, held.length)
    except (Unreadable, OSError) as error:
        yield f"the value of {shown(key)} in {shown(held.file)} cannot be read: {error}"
        return
    except (MemoryError, RecursionError):
        yield f"the value of {shown(key)} in {shown(held.file)} is too large or too deeply nested"
        return
    root[key] = apart(value.root, key)
    record = f"{held.file}/{key}"
    checkpoint.suspects += [replace(each, entry=f"{record}/{each.entry}") for each in value.suspects]
    for line in value.trouble:
        yield f"the value of {shown(key)} in {shown(held.file)}: {line}"


def _notes(path: str, metadata: Metadata) -> Iterator[str]:
    transformed = [key for (key, _), held in metadata.stored.items() if held.transformed]
    transformed = [key for key in transformed if metadata.keys.get(key) is None]  # values, and no tensors
    if transformed:
        number = count(len(transformed), "value")
        yield f"{number} compressed or encrypted by an extension, and not looked into: {listed(transformed)}"
    named = {plain(held.file) for held in metadata.stored.values()}
    others = sorted(name for name in os.listdir(path) if name.endswith(".distcp") and name not in named)
    if others:
        yield f"{count(len(others), 'file')} that .metadata does not name: {listed(others)}"


class Stretch(io.RawIOBase):
    """A stretch of a file as a file of its own."""

    def __init__(self, file: BinaryIO, begin: int, length: int) -> None:
        super().__init__()
        self.file, self.begin, self.length, self.at = file, begin, length, 0

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def seekable(self) -> bool:
        """Say that it has places."""
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place; raises `OSError` for one before the beginning."""
        at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self.at, os.SEEK_END: self.length}[whence]
        if at < 0:
            raise OSError("a place before the beginning")
        self.at = at
        return at

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer with the next bytes, and return how many they were."""
        self.file.seek(self.begin + self.at)
        data = self.file.read(max(0, min(len(buffer), self.length - self.at)))
        buffer[: len(data)] = data
        self.at += len(data)
        return len(data)
