"""Tell what kind of checkpoint a file is, and read it."""

import os
import stat
from pathlib import Path
from typing import BinaryIO

from gpudoctor.checkpoint.opcodes import Walker, suspects
from gpudoctor.checkpoint.rebuild import Rebuilder, allowed
from gpudoctor.checkpoint.distributed import read_distributed
from gpudoctor.checkpoint.safetensors import is_safetensors, read_safetensors
from gpudoctor.checkpoint.sharded import read_index
from gpudoctor.checkpoint.torch_legacy import is_legacy, read_legacy
from gpudoctor.checkpoint.torch_zip import read_zip
from gpudoctor.checkpoint.tree import Checkpoint, Unreadable

PICKLE_MOST = 1 << 29


def read(path: str | Path) -> Checkpoint:
    """Read what is in a checkpoint: its tree, its tensors without their values, and what opening it would run.

    `path` is a file of ``torch.save`` (any version), TorchScript, safetensors, an ``*.index.json`` of a sharded set, or
    the folder of a distributed checkpoint. Nothing in it is run, and torch is not needed. Raises
    `gpudoctor.checkpoint.Unreadable`, whose text is one line.
    """
    name = os.fspath(path)
    try:
        kind = os.stat(name).st_mode
        if stat.S_ISDIR(kind):
            return _folder(name)
        if not stat.S_ISREG(kind):
            raise Unreadable("neither a file nor a folder")
        with open(name, "rb") as file:
            return _file(file, name, os.fstat(file.fileno()).st_size)
    except Unreadable as error:
        raise Unreadable(f"{name}: {error}") from None
    except OSError as error:
        raise Unreadable(f"{name}: {error.strerror or error}") from None
    except (MemoryError, RecursionError):
        raise Unreadable(f"{name}: too large or too deeply nested for a checkpoint") from None


def _file(file: BinaryIO, name: str, size: int) -> Checkpoint:
    begin = file.read(512)
    file.seek(0)
    if not begin:
        raise Unreadable("an empty file")
    if begin.startswith(b"PK\x03\x04") or begin.startswith(b"PK\x05\x06"):
        return read_zip(file, name, size)
    if is_legacy(begin):
        return read_legacy(file, name, size)
    if name.endswith(".json"):
        return read_index(name)
    if is_safetensors(begin, size):
        return read_safetensors(file, name, size)
    if begin[:1] == b"\x80":
        return _pickle(file, name, size)
    if begin[257:262] == b"ustar":
        raise Unreadable("a tar file, as torch wrote before 0.1.10: load and save it with an old torch first")
    raise Unreadable(
        "not a checkpoint: neither torch.save's zip or older format, nor safetensors, nor a pickle"
    )


def _folder(name: str) -> Checkpoint:
    if os.path.exists(os.path.join(name, ".metadata")):
        return read_distributed(name)
    indexes = sorted(n for n in os.listdir(name) if n.endswith(".index.json"))
    if indexes:
        return read_index(os.path.join(name, indexes[0]))
    raise Unreadable(
        "a folder without .metadata (a distributed checkpoint) and without an *.index.json (a sharded one)"
    )


def _pickle(file: BinaryIO, name: str, size: int) -> Checkpoint:
    """Read a plain pickle: what is in it is shown; it holds no tensors that torch.load could give."""
    rebuilder = Rebuilder()
    walker = Walker(file.read(min(size, PICKLE_MOST)), make=rebuilder.make, persistent=rebuilder.storage)
    root = walker.walk()
    return Checkpoint(
        path=name, kind="pickle", version=str(walker.protocol), size=size, root=root,
        suspects=suspects(walker, os.path.basename(name), allowed),
        notes=["a plain pickle, not written by torch.save: torch.load does not read it"],
    )  # fmt: skip
