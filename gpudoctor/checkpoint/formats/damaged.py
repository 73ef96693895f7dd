"""Tell a checkpoint that is too damaged to be read from a file that never was one."""

import os
import re

from gpudoctor.checkpoint.formats.detection import BEGIN, format_of
from gpudoctor.facts.checkpoint_file import CheckpointFile, Format

SUFFIXES = (".pt", ".pth", ".ckpt", ".bin", ".safetensors", ".tar", ".pkl", ".distcp")
"""Ends of the names that checkpoints have."""
RECORD = re.compile(
    rb"[^/]{1,200}/(?:data\.pkl|data/\d+|constants\.pkl|constants/\d+|code/.*|extra/.*|version|byteorder|\.\w+.*)"
)
"""Names of the records of a zip file that torch wrote."""
POINTER = b"version https://git-lfs"


def damaged(path: str, reason: str) -> CheckpointFile | None:
    """Describe a file that `read` refuses for `reason`, where it begins as a checkpoint; else return ``None``.

    A pointer of git-lfs and a web page under the name of a checkpoint count: they stand where one should be.
    """
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            begin = file.read(BEGIN)
        size = os.path.getsize(path)
    except OSError:
        return None
    reason = reason.removeprefix(f"{path}: ")
    page = begin.lstrip()[:9].lower().startswith((b"<!doctype", b"<html"))
    kind = _format(begin, size)
    if kind is None and begin.startswith(POINTER):
        kind, reason = Format.UNKNOWN, "it is git-lfs's pointer to the file, and not the file"
    elif kind is None and page and path.endswith(SUFFIXES):
        kind, reason = Format.UNKNOWN, "it is a web page, as a download that failed leaves it"
    if kind is None:
        return None
    return CheckpointFile(path=path, kind=kind, size=size, trouble=(reason,))


def _format(begin: bytes, size: int) -> Format | None:
    """Return the format of a file that surely begins as one: any zip file or binary may look like a checkpoint."""
    form = format_of(begin, size)
    first = begin[30 : 30 + int.from_bytes(begin[26:28], "little")]
    if form == Format.TORCH_ZIP and not RECORD.fullmatch(first):
        return None
    if form == Format.SAFETENSORS and begin[8:10] != b'{"':
        return None
    return form
