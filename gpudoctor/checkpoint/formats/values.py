"""Look at the numbers of a checkpoint in blocks, without torch: which tensors are not finite, zero, or twice there.

A number is not finite where some of its bits are all set; they are compared for a whole block at once, by bytes that
are cut out with a stride. One gigabyte takes a second or two.
"""

import hashlib
import os
from collections import Counter, defaultdict
from typing import BinaryIO

from msgspec import Struct

from gpudoctor.checkpoint.formats import safetensors, torch_legacy, torch_zip
from gpudoctor.checkpoint.formats.hugging_face import shards
from gpudoctor.checkpoint.tree import (
    BLOCK,
    QUANTIZED,
    STRIDED,
    WIDTHS,
    Checkpoint,
    Heard,
    Tensor,
    Unreadable,
    unheard,
)
from gpudoctor.facts.checkpoint_file import Format
from gpudoctor.facts.checkpoint_values import CheckpointValues

READ_TIMES = 4
"""Bytes that are read at most, in times of the file's size: views may lie over each other."""
DUPLICATE_LEAST = 1024
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

    size: int
    nonfinite: int
    zero: bool
    constant: bool
    digest: bytes
    names: list[str] = []
    """Of the tensors that have these very bytes."""


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


def look_at_values(checkpoint: Checkpoint, heard: Heard = unheard) -> CheckpointValues:
    """Read every tensor of a checkpoint once, in blocks; raises `Unreadable` where the file has gone or changed."""
    try:
        if checkpoint.kind == Format.SHARDED:
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
    find = PLACES.get(checkpoint.kind)
    places = dict(find(file, checkpoint.size)) if find is not None else {}
    skipped: Counter[str] = Counter()
    looks: dict[tuple[int, int, str], _Look] = {}
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
            if done > READ_TIMES * checkpoint.size:
                skipped["views of bytes that others were read from"] += 1
                continue
            made = _look_at(file, *place)
            done += place[1]
            heard(done, checkpoint.size)
            if made is None:
                skipped["the file ends before them"] += 1
                continue
            looks[place] = made
        looks[place].names.append(name)
    return _summed(checkpoint.path, list(looks.values()), skipped)


def _summed(path: str, looks: list[_Look], skipped: Counter[str]) -> CheckpointValues:
    same: dict[tuple[int, bytes], list[str]] = defaultdict(list)
    for each in looks:
        if not each.constant and each.size >= DUPLICATE_LEAST:
            same[each.size, each.digest].append(each.names[0])
    return CheckpointValues(
        path=path,
        read=sum(each.size for each in looks),
        nonfinite=tuple((name, each.nonfinite) for each in looks if each.nonfinite for name in each.names),
        zero=tuple(name for each in looks if each.zero for name in each.names),
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
    return _Look(size, count, constant and not any(pattern[:width]), constant, digest.digest())


Places = dict[str, tuple[int, int]]
"""By a storage's key: where its bytes begin in the file, and how many there are."""
PLACES = {
    Format.TORCH_ZIP: torch_zip.storage_places,
    Format.TORCHSCRIPT: torch_zip.storage_places,
    Format.TORCH_LEGACY: torch_legacy.storage_places,
    Format.SAFETENSORS: safetensors.storage_places,
}


def _range(tensor: Tensor, name: str, places: Places) -> tuple[int, int, str] | str:
    """Return where a tensor's bytes are: begin, size, dtype; or why that cannot be told, empty for no elements."""
    if tensor.layout not in (STRIDED, QUANTIZED):
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


def _look_at_shards(checkpoint: Checkpoint, heard: Heard) -> CheckpointValues:
    """Look at each file of a sharded set."""
    looks: list[CheckpointValues] = []
    skipped: Counter[str] = Counter()
    for _, keys, shard in shards(checkpoint.path):
        if isinstance(shard, str):
            skipped[shard] += len(keys)
            continue
        looks.append(look_at_values(shard))
        skipped.update(dict(looks[-1].skipped))
        heard(sum(each.read for each in looks), checkpoint.size)
    return CheckpointValues(
        path=checkpoint.path,
        read=sum(each.read for each in looks),
        nonfinite=tuple(item for each in looks for item in each.nonfinite),
        zero=tuple(name for each in looks for name in each.zero),
        same=tuple(group for each in looks for group in each.same),
        skipped=tuple(skipped.items()),
    )
