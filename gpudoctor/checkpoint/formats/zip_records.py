"""Find the bytes of a zip file's records, so that they can be copied or looked at where they are."""

from typing import BinaryIO

from msgspec import Struct

from gpudoctor.checkpoint.formats.zip_directory import data_place, entries
from gpudoctor.checkpoint.tree import Unreadable
from gpudoctor.text import shown


class Record(Struct, frozen=True):
    """One record of an archive, with the place of its bytes in the file that has it."""

    name: str
    at: int
    """First byte of its data in the file."""
    size: int
    """Bytes of its data in the file."""
    crc: int
    unpacked: int
    """Bytes of its data when they are unpacked; torch packs none."""
    method: int = 0


def records(file: BinaryIO, size: int) -> list[Record]:
    """Return the records of a zip file of `size` bytes in the order of its directory; raises `Unreadable`."""
    found = []
    for entry in entries(file, size):
        at = data_place(file, entry, [])
        if at + entry.packed > size:
            raise Unreadable(f"a damaged zip file: the record {shown(entry.name)} goes beyond its end")
        if entry.flags & 1:
            raise Unreadable(f"the record {shown(entry.name)} is encrypted")
        found.append(Record(entry.name, at, entry.packed, entry.crc, entry.size, entry.method))
    if len({record.name for record in found}) < len(found):
        raise Unreadable("a damaged zip file: two records of one name")
    return found
