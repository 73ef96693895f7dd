"""Read the header of a safetensors file.

The rules are those of the format's own reader: the length of the header in eight bytes, the header in JSON, and
behind it the tensors' bytes without a gap. What that reader would refuse although the header can be read is told as
trouble.
"""

import math
from collections.abc import Iterator
from typing import Annotated, BinaryIO

import msgspec
from msgspec import Meta, Struct

from gpudoctor.checkpoint.formats.contiguous import contiguous_tensor
from gpudoctor.checkpoint.tree import DIMS_MOST, Checkpoint, Tensor, Unreadable
from gpudoctor.facts.checkpoint_file import Format
from gpudoctor.text import capped, count, shown

HEADER_MOST = 100_000_000
"""Bytes: the most that the format's own reader takes (safetensors 0.8)."""
HEADER_TENSORS_MOST = 1_000_000
"""Largest number of tensors that is read; a file of a large model has a few thousand."""
ENTRY_MOST = 4096
"""Bytes of JSON that describe one tensor; they are about 100."""
METADATA_NAME = "__metadata__"
DTYPES = {
    "BOOL": ("bool", 8), "F4": ("float4_e2m1fn_x2", 4), "F6_E2M3": ("float6_e2m3fn", 6),
    "F6_E3M2": ("float6_e3m2fn", 6), "U8": ("uint8", 8), "I8": ("int8", 8), "F8_E5M2": ("float8_e5m2", 8),
    "F8_E4M3": ("float8_e4m3fn", 8), "F8_E8M0": ("float8_e8m0fnu", 8), "F8_E4M3FNUZ": ("float8_e4m3fnuz", 8),
    "F8_E5M2FNUZ": ("float8_e5m2fnuz", 8), "I16": ("int16", 16), "U16": ("uint16", 16), "F16": ("float16", 16),
    "BF16": ("bfloat16", 16), "I32": ("int32", 32), "U32": ("uint32", 32), "F32": ("float32", 32),
    "C64": ("complex64", 64), "F64": ("float64", 64), "I64": ("int64", 64), "U64": ("uint64", 64),
}  # fmt: skip
"""torch's name and the bits of an element, by the format's name (safetensors 0.8). torch has no type of six bits."""

Whole = Annotated[int, Meta(ge=0, le=(1 << 63) - 1)]


class HeaderEntry(Struct, frozen=True):
    """What the header says of one tensor."""

    dtype: str
    """As the format names it: ``F32``."""
    shape: Annotated[tuple[Whole, ...], Meta(max_length=DIMS_MOST)]
    data_offsets: tuple[Whole, Whole]
    """First byte and the one after the last, from `Header.start`."""


class Header(Struct, frozen=True):
    """A safetensors file without the values of its tensors."""

    tensors: dict[str, HeaderEntry]
    metadata: dict[str, str]
    start: int
    """Byte of the file where the tensors' bytes begin."""


def is_safetensors(begin: bytes, size: int) -> bool:
    """Return whether a file begins as safetensors does: with the length of a JSON header, and the header.

    A length that is beyond the file's end is no reason to say no: the file may be cut off.
    """
    length = int.from_bytes(begin[:8], "little")
    return size > 8 and begin[8:9] == b"{" and (length <= HEADER_MOST or begin[8:10] == b'{"')


def read_safetensors(file: BinaryIO, path: str, size: int) -> Checkpoint:
    """Read the header of a file of `size` bytes; raises `Unreadable` where it is broken.

    The root is a dict of names and tensors. The file's own metadata becomes notes, as ``metadata format: pt``.
    """
    header = read_header(file, size)
    root = {name: _tensor(name, entry) for name, entry in header.tensors.items()}
    return Checkpoint(
        path=path, kind=Format.SAFETENSORS, size=size, root=root, trouble=capped(_trouble(header, size)),
        notes=capped(_notes(header)),
    )  # fmt: skip


def _notes(header: Header) -> Iterator[str]:
    for key, text in header.metadata.items():
        yield f"metadata {shown(key)}: {shown(text)}"
    for name, entry in header.tensors.items():
        if DTYPES.get(entry.dtype, ("", 8))[1] == 6:
            yield f"torch has no type for {entry.dtype}, and does not load tensor {shown(name)}"


def read_header(file: BinaryIO, size: int) -> Header:
    """Read the header alone, for the places of the tensors' bytes; raises `Unreadable`."""
    file.seek(0)
    begin = file.read(8)
    length = int.from_bytes(begin, "little")
    if len(begin) < 8:
        raise Unreadable("a safetensors file that ends within the length of its header")
    if length > HEADER_MOST:
        raise Unreadable(
            f"a safetensors header that claims {length} bytes: at most {HEADER_MOST} are allowed"
        )
    data = file.read(length)
    if len(data) < length:
        missing = count(length - len(data), "byte")
        raise Unreadable(f"a safetensors file that is cut off: {missing} of its header are missing")
    try:
        raw = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        if len(raw) > HEADER_TENSORS_MOST:
            raise Unreadable(f"a safetensors header of {len(raw)} tensors: more than a checkpoint has")
        metadata = msgspec.json.decode(raw.pop(METADATA_NAME, b"null"), type=dict[str, str] | None)
        return Header(_entries(raw), metadata or {}, 8 + length)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unreadable(f"a damaged safetensors header: {error}") from None
    except RecursionError:
        raise Unreadable("a safetensors header that is nested too deeply") from None


def _entries(raw: dict[str, msgspec.Raw]) -> dict[str, HeaderEntry]:
    decoder = msgspec.json.Decoder(HeaderEntry)
    entries = {}
    for name, text in raw.items():
        if memoryview(text).nbytes > ENTRY_MOST:
            raise Unreadable(f"a damaged safetensors header: too much about tensor {shown(name)}")
        try:
            entries[name] = decoder.decode(text)
        except msgspec.DecodeError as error:
            raise Unreadable(f"a damaged safetensors header: tensor {shown(name)}: {error}") from None
    return entries


def _tensor(name: str, entry: HeaderEntry) -> Tensor:
    dtype, bits = DTYPES.get(entry.dtype, (shown(entry.dtype), 0))
    shape = entry.shape
    if bits == 4 and shape and shape[-1] % 2 == 0:  # torch counts the bytes, of two elements each
        shape = (*shape[:-1], shape[-1] // 2)
    return contiguous_tensor(name, dtype, shape)


def _trouble(header: Header, size: int) -> Iterator[str]:
    """Say what the format's own reader would refuse, and which bytes are missing."""
    end = 0
    for name, entry in sorted(header.tensors.items(), key=lambda item: item[1].data_offsets):
        begin, stop = entry.data_offsets
        if begin > end:
            yield f"tensor {shown(name)} begins at byte {begin}, and {begin - end} bytes before it belong to none"
        elif begin < end:
            yield f"tensor {shown(name)} begins at byte {begin}, inside of another one"
        yield from _size_trouble(name, entry)
        end = max(end, stop)
    there = size - header.start
    if end > there:
        cut = sum(entry.data_offsets[1] > there for entry in header.tensors.values())
        yield f"the file is cut off: {count(end - there, 'byte')} are missing, which {count(cut, 'tensor')} would need"
    elif end < there:
        yield f"{count(there - end, 'byte')} at the end of the file belong to no tensor"


def _size_trouble(name: str, entry: HeaderEntry) -> Iterator[str]:
    begin, stop = entry.data_offsets
    if entry.dtype not in DTYPES:
        yield f"tensor {shown(name)} has an unknown type {shown(entry.dtype)}"
        return
    bits = DTYPES[entry.dtype][1] * math.prod(entry.shape)
    if stop < begin:
        yield f"tensor {shown(name)} ends before it begins"
    elif bits != 8 * (stop - begin):
        yield (
            f"tensor {shown(name)} has {count(stop - begin, 'byte')}, and {entry.dtype} of shape {list(entry.shape)} "
            f"needs {-(-bits // 8)}"
        )
    elif entry.dtype == "F4" and (not entry.shape or entry.shape[-1] % 2):
        yield f"tensor {shown(name)} has an odd number of 4-bit elements in a row, which torch does not read"


def storage_places(file: BinaryIO, size: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """Yield by its name where each tensor's bytes begin, and how many there are; raises `Unreadable`."""
    header = read_header(file, size)
    for name, entry in header.tensors.items():
        begin, end = entry.data_offsets
        yield name, (header.start + begin, end - begin)
