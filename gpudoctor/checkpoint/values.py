"""Look at the numbers of a checkpoint in blocks, without torch: which tensors are not finite, zero, or twice there.

A number is not finite where some of its bits are all set; they are compared for a whole block at once, by bytes that
are cut out with a stride. One gigabyte takes a second or two.
"""

import hashlib
import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import BinaryIO

from msgspec import Struct

from gpudoctor.checkpoint.read import read
from gpudoctor.checkpoint.safetensors import read_header
from gpudoctor.checkpoint.sharded import INDEX_MOST
from gpudoctor.checkpoint.torch_zip import open_archive
from gpudoctor.checkpoint.tree import WIDTHS, Checkpoint, Heard, Storage, Tensor, Unreadable, unheard
from gpudoctor.facts.checkpoint_values import CheckpointValues

BLOCK = 1 << 20
"""Bytes; a multiple of every element's width."""
SMALL = 1024
"""Bytes: tensors below are not called duplicates of each other."""
BITS = {
    "float64": (8, ((7, 0x7F, 0x7F), (6, 0xF0, 0xF0))),
    "float32": (4, ((3, 0x7F, 0x7F), (2, 0x80, 0x80))),
    "float16": (2, ((1, 0x7C, 0x7C),)),
    "bfloat16": (2, ((1, 0x7F, 0x7F), (0, 0x80, 0x80))),
    "float8_e4m3fn": (1, ((0, 0x7F, 0x7F),)),
    "float8_e5m2": (1, ((0, 0x7C, 0x7C),)),
    "float8_e4m3fnuz": (1, ((0, 0xFF, 0x80),)),
    "float8_e5m2fnuz": (1, ((0, 0xFF, 0x80),)),
    "float8_e8m0fnu": (1, ((0, 0xFF, 0xFF),)),
}
"""Width in bytes; then, by byte of a little-endian number, the bits and what they are in NaN and infinity."""
BITS |= {f"complex{2 * n}": BITS[f"float{n}"] for n in (16, 32, 64)}
TABLES = {
    (mask, value): bytes(int(byte & mask == value) for byte in range(256))
    for _, conditions in BITS.values()
    for _, mask, value in conditions
}


class _Look(Struct):
    """What the bytes of one tensor are like."""

    nonfinite: int
    zero: bool
    constant: bool
    digest: bytes


def nonfinite(block: bytes, dtype: str) -> int:
    """Count the NaNs and infinities in little-endian numbers; of a complex one, each part; 0 for integers."""
    width, conditions = BITS.get(dtype, (0, ()))
    marks: int | None = None
    for byte, mask, value in conditions:
        here = block[byte::width].translate(TABLES[mask, value])
        if 1 not in here:
            return 0
        number = int.from_bytes(here, "little")
        marks = number if marks is None else marks & number
    return marks.bit_count() if marks else 0


def look(checkpoint: Checkpoint, heard: Heard = unheard) -> CheckpointValues:
    """Read every tensor of a checkpoint once, in blocks; raises `Unreadable` where the file has gone or changed."""
    try:
        if checkpoint.kind == "sharded":
            return _look_at_shards(checkpoint, heard)
        if os.path.isdir(checkpoint.path):
            count = sum(1 for _ in checkpoint.tensors())
            return CheckpointValues(
                path=checkpoint.path, skipped=(("a distributed checkpoint's values are not read", count),)
            )
        with open(checkpoint.path, "rb") as file:
            return _look(file, checkpoint, heard)
    except OSError as error:
        raise Unreadable(f"{checkpoint.path}: {error.strerror or error}") from None


def _look(file: BinaryIO, checkpoint: Checkpoint, heard: Heard) -> CheckpointValues:
    places = _places(file, checkpoint)
    skipped: Counter[str] = Counter()
    looks: dict[tuple[int, int, str], _Look] = {}
    named: dict[tuple[int, int, str], list[str]] = defaultdict(list)
    done = 0
    big = any("big-endian" in note for note in checkpoint.notes)
    for path, tensor in checkpoint.tensors():
        name = ".".join(map(str, path))
        place = "written on a big-endian machine" if big else _range(tensor, name, places)
        if isinstance(place, str):
            if place:
                skipped[place] += 1
            continue
        if place not in looks:
            made = _look_at(file, *place)
            done += place[1]
            heard(done, checkpoint.size)
            if made is None:
                skipped["the file ends before them"] += 1
                continue
            looks[place] = made
        named[place].append(name)
    same: dict[tuple[int, bytes], list[str]] = defaultdict(list)
    for (_, size, _), made, names in ((place, looks[place], named[place]) for place in named):
        if not made.constant and size >= SMALL:
            same[size, made.digest].append(names[0])
    return CheckpointValues(
        path=checkpoint.path,
        read=sum(size for _, size, _ in looks),
        nonfinite=tuple((n, looks[p].nonfinite) for p in named if looks[p].nonfinite for n in named[p]),
        zero=tuple(n for p in named if looks[p].zero for n in named[p]),
        same=tuple(tuple(names) for names in same.values() if len(names) > 1),
        skipped=tuple(skipped.items()),
    )


def _look_at(file: BinaryIO, begin: int, size: int, dtype: str) -> _Look | None:
    """Read a range of bytes; ``None`` where the file ends before it does."""
    file.seek(begin)
    digest = hashlib.blake2b(digest_size=16)
    width = WIDTHS[dtype]
    count, constant, pattern, left = 0, True, b"", size
    while left:
        block = file.read(min(BLOCK, left))
        if not block:
            return None
        pattern = pattern or block[:width] * (BLOCK // width)
        constant = constant and block == pattern[: len(block)]
        count += nonfinite(block, dtype)
        digest.update(block)
        left -= len(block)
    return _Look(count, constant and not any(pattern[:width]), constant, digest.digest())


Places = dict[str, tuple[int, int]]
"""By a storage's key: where its bytes begin in the file, and how many there are."""


def _range(tensor: Tensor, name: str, places: Places) -> tuple[int, int, str] | str:
    """Return where a tensor's bytes are: begin, size, dtype; or why that cannot be told, empty for no elements."""
    if tensor.layout not in ("strided", "quantized"):
        return f"{tensor.layout} tensors"
    if tensor.device == "meta":
        return "on the meta device, without values"
    width = WIDTHS.get(tensor.dtype)
    if width is None:
        return f"of type {tensor.dtype}"
    if not tensor.elements:
        return ""
    at = places.get(tensor.storage.key if tensor.storage is not None else name) or places.get(name)
    if at is None:
        return "not found in the file"
    span = tensor.elements
    if tensor.stride:
        span = 1 + sum((n - 1) * step for n, step in zip(tensor.shape, tensor.stride, strict=False))
    begin, size = tensor.offset * width, span * width
    if begin < 0 or size < 0 or begin + size > at[1]:
        return "beyond the end of their storage"
    return "views with gaps" if span > tensor.elements else (at[0] + begin, size, tensor.dtype)


def _places(file: BinaryIO, checkpoint: Checkpoint) -> Places:
    if checkpoint.kind in ("torch zip", "torchscript"):
        return dict(_zip_places(file))
    if checkpoint.kind == "torch legacy":
        return dict(_legacy_places(file, checkpoint))
    if checkpoint.kind == "safetensors":
        return dict(_safetensors_places(file, checkpoint.size))
    return {}


def _zip_places(file: BinaryIO) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the records of storages; torch stores them without compression."""
    with open_archive(file) as archive:
        for info in archive.infolist():
            top, data, key = info.filename.rpartition("/data/")
            if not data or "/" in top or info.compress_type or info.compress_size != info.file_size:
                continue
            file.seek(info.header_offset)
            head = file.read(30)
            names = int.from_bytes(head[26:28], "little") + int.from_bytes(head[28:30], "little")
            yield key, (info.header_offset + 30 + names, info.file_size)


def _legacy_places(file: BinaryIO, checkpoint: Checkpoint) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield the storages at the end of the file: sorted by key, each its number of elements, then its bytes."""
    storages: dict[str, Storage] = {}
    tensors = [tensor for _, tensor in checkpoint.tensors()]
    while tensors:
        tensor = tensors.pop()
        tensors += tensor.parts
        if tensor.storage is not None:
            storages[tensor.storage.key] = tensor.storage
    at = checkpoint.size - sum(8 + storage.size for storage in storages.values())
    for key in sorted(storages):
        if at < 0:
            return
        file.seek(at)
        if int.from_bytes(file.read(8), "little") != storages[key].elements:
            return
        yield key, (at + 8, storages[key].size)
        at += 8 + storages[key].size


def _safetensors_places(file: BinaryIO, size: int) -> Iterator[tuple[str, tuple[int, int]]]:
    header = read_header(file, size)
    for name, entry in header.tensors.items():
        begin, end = entry.data_offsets
        yield name, (header.start + begin, end - begin)


def _look_at_shards(checkpoint: Checkpoint, heard: Heard) -> CheckpointValues:
    """Look at each file of a sharded set."""
    folder = checkpoint.path if os.path.isdir(checkpoint.path) else os.path.dirname(checkpoint.path)
    indexes = [n for n in sorted(os.listdir(folder or ".")) if n.endswith(".index.json")]
    index = checkpoint.path if os.path.isfile(checkpoint.path) else os.path.join(folder, indexes[0])
    try:
        with open(index, "rb") as file:
            names = sorted(set(json.loads(file.read(INDEX_MOST))["weight_map"].values()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise Unreadable(f"{index}: not the index of a sharded set") from None
    looks: list[CheckpointValues] = []
    for name in names:
        if "/" not in str(name):
            looks.append(look(read(os.path.join(folder, str(name)))))
            heard(sum(each.read for each in looks), checkpoint.size)
    skipped: Counter[str] = Counter()
    for each in looks:
        skipped.update(dict(each.skipped))
    return CheckpointValues(
        path=checkpoint.path,
        read=sum(each.read for each in looks),
        nonfinite=tuple(item for each in looks for item in each.nonfinite),
        zero=tuple(name for each in looks for name in each.zero),
        same=tuple(group for each in looks for group in each.same),
        skipped=tuple(skipped.items()),
    )
