"""Tell a checkpoint that is too damaged to be read from a file that never was one."""

import os
import re

from gpudoctor.checkpoint.formats.safetensors import is_safetensors
from gpudoctor.checkpoint.formats.torch_legacy import is_legacy
from gpudoctor.facts import CheckpointFile

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
            begin = file.read(512)
        size = os.path.getsize(path)
    except OSError:
        return None
    reason = reason.removeprefix(f"{path}: ")
    kind = _kind(begin, size)
    if kind is None and begin.startswith(POINTER):
        kind, reason = "unknown", "it is git-lfs's pointer to the file, and not the file"
    elif (
        kind is None
        and path.endswith(SUFFIXES)
        and begin.lstrip()[:9].lower().startswith((b"<!doctype", b"<html"))
    ):
        kind, reason = "unknown", "it is a web page, as a download that failed leaves it"
    if kind is None:
        return None
    return CheckpointFile(path=path, kind=kind, size=size, trouble=(reason,))


def _kind(begin: bytes, size: int) -> str | None:
    if begin.startswith(b"PK\x03\x04") and len(begin) >= 30:
        length = int.from_bytes(begin[26:28], "little")
        return "torch zip" if RECORD.fullmatch(begin[30 : 30 + length]) else None
    if is_legacy(begin):
        return "torch legacy"
    if is_safetensors(begin, size) and begin[8:10] == b'{"':
        return "safetensors"
    return None
