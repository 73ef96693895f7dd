"""Compare every record of a zip checkpoint with the checksum that its directory holds."""

import zlib
from collections.abc import Iterator
from typing import BinaryIO

from gpudoctor.checkpoint.formats.zip_reader import DEFLATED, STORED, Record, data_place, directory
from gpudoctor.checkpoint.tree import BLOCK, Heard, Unreadable, unheard
from gpudoctor.text import shown

UNPACKED_TIMES = 4
"""Bytes that are unpacked at most, in times of the file's size; torch compresses nothing."""


def wrong_records(path: str, size: int, heard: Heard = unheard) -> Iterator[str]:
    """Yield a line for each record that is not what was written; `size` is that of the file in bytes.

    A record without a checksum is not compared. Raises `Unreadable` where the file cannot be opened as a zip file any
    more.
    """
    done = 0
    try:
        with open(path, "rb") as file:
            for entry in directory(file, size):
                done += entry.size
                if done > UNPACKED_TIMES * size + BLOCK:
                    yield f"the records up to {shown(entry.name)} claim {done:,} bytes, far more than the file has"
                    return
                if entry.crc or not entry.size:
                    yield from _wrong(file, entry)
                heard(done, size)
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from None
    except Unreadable as error:
        raise Unreadable(f"{path}: {error}") from None


def _wrong(file: BinaryIO, entry: Record) -> Iterator[str]:
    """Say what is wrong with a record."""
    name = shown(entry.name)
    crc = length = 0
    try:
        place = data_place(file, entry, [])
        for block in _unpacked(file, entry, place):
            crc = zlib.crc32(block, crc)
            length += len(block)
    except Unreadable as error:
        yield f"the record {name} is damaged: {error}"
    except zlib.error as error:
        yield f"the record {name} is damaged: it cannot be unpacked: {error}"
    else:
        if length != entry.size:
            yield f"the record {name} is damaged: it has {length} bytes and claims {entry.size}"
        elif crc != entry.crc:
            yield f"the record {name} is damaged: its checksum is wrong"


def _unpacked(file: BinaryIO, entry: Record, place: int) -> Iterator[bytes]:
    """Yield what a record holds in blocks, and no more than it claims but for one block; raises zlib.error."""
    if entry.method not in (STORED, DEFLATED):
        raise Unreadable(f"packed in a way that torch does not read (method {entry.method})")
    file.seek(place)
    left, made = entry.packed, 0
    inflate = zlib.decompressobj(-15)
    while left > 0 and made <= entry.size:
        block = file.read(min(BLOCK, left))
        if not block:
            return
        left -= len(block)
        while block:
            data = inflate.decompress(block, BLOCK) if entry.method == DEFLATED else block
            made += len(data)
            yield data
            block = inflate.unconsumed_tail if made <= entry.size else b""
