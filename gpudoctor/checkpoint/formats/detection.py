"""Tell by its first bytes in which format a file is, and read one that is a checkpoint by itself."""

from collections.abc import Callable
from typing import BinaryIO

from gpudoctor.checkpoint.formats.safetensors import is_safetensors, read_safetensors
from gpudoctor.checkpoint.formats.torch_legacy import is_legacy, read_legacy
from gpudoctor.checkpoint.formats.torch_zip import read_zip
from gpudoctor.checkpoint.tree import Checkpoint
from gpudoctor.facts.checkpoint_file import Format

BEGIN = 512
"""Bytes by which a format is told."""
READERS: dict[Format, Callable[[BinaryIO, str, int], Checkpoint]] = {
    Format.TORCH_ZIP: read_zip,
    Format.TORCH_LEGACY: read_legacy,
    Format.SAFETENSORS: read_safetensors,
}
"""Given the file, its name and its size in bytes."""


def format_of(begin: bytes, size: int) -> Format | None:
    """Return the format of a file of `size` bytes that begins so; ``None`` where it is none of `READERS`."""
    if begin.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return Format.TORCH_ZIP
    if is_legacy(begin):
        return Format.TORCH_LEGACY
    return Format.SAFETENSORS if is_safetensors(begin, size) else None
