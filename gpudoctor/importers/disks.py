"""``df`` -> the file systems that every training writes to."""

import re
from collections.abc import Iterable

from gpudoctor.facts import Folder, Storage
from gpudoctor.importers.host_commands import size

_HEADER = re.compile(
    r"Filesystem\s+(?:Type\s+)?(?P<unit>Size|1K-blocks|1M-blocks|1G-blocks)\s+Used\s+Avail(?:able)?\s"
)
_ROW = re.compile(
    r"(?P<device>\S{1,200})\s+(?:(?P<kind>[a-z][\w.]{1,20})\s+)?(?P<size>[\d.]{1,16}[KMGTP]?)\s+[\d.]{1,16}[KMGTP]?\s+"
    r"(?P<free>[\d.]{1,16}[KMGTP]?)\s+\d{1,3}%\s+(?P<mount>/\S{0,200})$"
)
# Elsewhere a data set may fill a disk that nobody writes to, and an image is full by nature.
_WRITTEN = re.compile(r"/(?:(?:var/)?tmp|home(?:/[\w.-]{1,60})?|root|workspace|scratch(?:/[\w.-]{1,60})?)?$")
_SHIFTS = {"1K-blocks": 10, "1M-blocks": 20, "1G-blocks": 30}
_MOST = 64


def read(lines: Iterable[str]) -> Storage | None:
    """Read the rows below the header; ``None`` where none is of a file system that a training writes to.

    ``/dev/sda2       439G  439G     0 100% /``
    """
    unit, folders = "", dict[str, Folder]()
    for line in lines:
        if line.startswith("Filesystem") and (header := _HEADER.match(line[:200])):
            unit = header["unit"]
        elif unit and (row := _ROW.match(line[:500])):
            if (
                _WRITTEN.match(row["mount"])
                and not row["device"].startswith("/dev/loop")
                and len(folders) < _MOST
            ):
                total, free = _bytes(row["size"], unit), _bytes(row["free"], unit)
                folders.setdefault(row["mount"], _folder(row["mount"], row["kind"], total, free))
        elif line:
            unit = ""
    return Storage(folders=list(folders.values()), temporary="") if folders else None


def _folder(mount: str, kind: str | None, total: int | None, free: int | None) -> Folder:
    return Folder(
        use="file system", path=mount, mount=mount, kind=kind or "", total_bytes=total, free_bytes=free
    )


def _bytes(text: str, unit: str) -> int | None:
    if unit in _SHIFTS:
        return int(text) << _SHIFTS[unit] if text.isascii() and text.isdecimal() else None
    return size(text)
