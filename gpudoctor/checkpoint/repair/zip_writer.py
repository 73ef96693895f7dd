"""Write a zip file byte for byte as torch's own writer lays it out (caffe2/serialize/inline_container.cc and miniz).

Every record begins at a multiple of the alignment, by padding in an extra field ``FB``: that is what loading by mmap
rests on, and what torch computes the places of storages from when it does not look them up.
"""

import struct
import zlib

from gpudoctor.checkpoint.formats.zip_reader import CENTRAL, END, END64, FULL, LOCAL, LOCATOR64, Record
from gpudoctor.checkpoint.repair.whole_file import Target

ALIGNMENT = 64
FLAGS = 0x0808
"""Sizes behind the data, names in UTF-8."""


class Archive:
    """A zip file that is being written to a `Target`."""

    def __init__(self, target: Target, alignment: int = ALIGNMENT) -> None:
        self.target, self.alignment = target, alignment
        self._directory = bytearray()
        self._count = 0

    def add(self, name: str, data: bytes) -> None:
        """Add a record of these bytes."""
        begin = self._begin(name, len(data), 0)
        self.target.write(data)
        self._end(name, begin, zlib.crc32(data), len(data), len(data), 0)

    def copy(self, record: Record, source: int, at: int, name: str | None = None) -> None:
        """Add another archive's record, its bytes from `at` on and its checksum, under its own or another name."""
        name = name or record.name
        begin = self._begin(name, record.size, record.method)
        self.target.copy(source, at, record.packed)
        self._end(name, begin, record.crc, record.packed, record.size, record.method)

    def copy_bytes(self, name: str, source: int, at: int, size: int) -> None:
        """Add a record of another file's bytes, whose checksum is not known yet."""
        begin = self._begin(name, size, 0)
        crc = self.target.copy_summed(source, at, size)
        self._end(name, begin, crc, size, size, 0)

    def close(self) -> None:
        """Write the directory."""
        begin, size, count = self.target.position, len(self._directory), self._count
        self.target.write(bytes(self._directory))
        end = self.target.position
        self.target.write(
            END64.pack(b"PK\x06\x06", 44, 0x031E, 45, 0, 0, count, count, size, begin)
            + LOCATOR64.pack(b"PK\x06\x07", 0, end, 1)
            + END.pack(
                b"PK\x05\x06", 0, 0, min(count, 0xFFFF), min(count, 0xFFFF), min(size, FULL), min(begin, FULL), 0
            )
        )  # fmt: skip

    def _begin(self, name: str, size: int, method: int) -> int:
        begin = self.target.position
        encoded = name.encode("utf-8", "surrogateescape")
        wide = _wide(size, 0, begin)  # the packed size stands behind the data: miniz has it as 0 here
        start = begin + LOCAL.size + len(encoded) + len(wide) + 4
        padding = -start % self.alignment
        extra = wide + struct.pack("<2sH", b"FB", padding) + b"Z" * padding
        flags = FLAGS if size else FLAGS & ~8
        self.target.write(
            LOCAL.pack(b"PK\x03\x04", 0, flags, method, 0, 0, 0, 0, 0, len(encoded), len(extra))
            + encoded
            + extra
        )
        return begin

    def _end(self, name: str, begin: int, crc: int, size: int, unpacked: int, method: int) -> None:
        wide = _wide(unpacked, size, begin)
        if unpacked:
            form = "<4sIQQ" if wide else "<4sIII"
            self.target.write(struct.pack(form, b"PK\x07\x08", crc, size, unpacked))
        flags = FLAGS if unpacked else FLAGS & ~8
        encoded = name.encode("utf-8", "surrogateescape")
        self._count += 1
        self._directory += CENTRAL.pack(
            b"PK\x01\x02", 0, 0, flags, method, 0, 0, crc, min(size, FULL), min(unpacked, FULL),
            len(encoded), len(wide), 0, 0, 0, 0, min(begin, FULL),
        ) + encoded + wide  # fmt: skip


def _wide(unpacked: int, size: int, begin: int) -> bytes:
    """Return the extra field with the numbers that have no room in 32 bits."""
    numbers = [unpacked, size] if unpacked >= FULL else []
    if begin >= FULL:
        numbers.append(begin)
    return struct.pack(f"<HH{len(numbers)}Q", 1, 8 * len(numbers), *numbers) if numbers else b""
