"""Read a checkpoint of any format."""

import os
import stat
from pathlib import Path
from typing import BinaryIO

from gpudoctor import garbage
from gpudoctor.checkpoint.formats.detection import BEGIN, READERS, format_of
from gpudoctor.checkpoint.formats.distributed import read_distributed
from gpudoctor.checkpoint.formats.hugging_face import read_index
from gpudoctor.checkpoint.formats.torch_legacy import MAGIC, read_legacy
from gpudoctor.checkpoint.pickle.load import PICKLE_MOST, Loaded, load
from gpudoctor.checkpoint.pickle.torch_tensors import Rebuilder
from gpudoctor.checkpoint.tree import Checkpoint, Unreadable
from gpudoctor.facts.checkpoint_file import Format
from gpudoctor.text import one_line

REASON_MOST = 500
"""Characters of a reason why a file cannot be read."""
IMPORTS = ("GLOBAL", "STACK_GLOBAL", "EXT")
"""Opcodes that import and call nothing."""
NOT_OF_TORCH = "a plain pickle, not written by torch.save: torch.load does not read it"


def read(path: str | Path) -> Checkpoint:
    """Read what is in a checkpoint: its tree, its tensors without their values, and what opening it would run.

    `path` is a file of ``torch.save`` (any version), TorchScript, safetensors, an ``*.index.json`` of a sharded set, or
    the folder of a distributed checkpoint. Nothing in it is run, and torch is not needed. Raises
    `gpudoctor.checkpoint.Unreadable`, whose text is one line.
    """
    name = os.fspath(path)
    try:
        with garbage.paused():
            checkpoint = _read(name)
            next(checkpoint.tensors(), None)  # which finds out whether it is too deep to be followed
            return checkpoint
    except Unreadable as error:
        reason = str(error)
    except OSError as error:
        reason = error.strerror or str(error)
    except (MemoryError, RecursionError):
        reason = "too large or too deeply nested for a checkpoint"
    except (ValueError, OverflowError):  # a name with a zero byte
        reason = "a name that no file can have"
    raise Unreadable(one_line(f"{name}: {reason[:REASON_MOST]}"))


def _read(name: str) -> Checkpoint:
    kind = os.stat(name).st_mode
    if stat.S_ISDIR(kind):
        return _folder(name)
    if not stat.S_ISREG(kind):  # before it is opened: opening a pipe would wait
        raise Unreadable("neither a file nor a folder")
    with open(name, "rb") as file:
        return _file(file, name, os.fstat(file.fileno()).st_size)


def _file(file: BinaryIO, name: str, size: int) -> Checkpoint:
    begin = file.read(BEGIN)
    file.seek(0)
    if not begin:
        raise Unreadable("an empty file")
    form = format_of(begin, size)
    if name.endswith(".json") and form in (None, Format.SAFETENSORS):  # JSON may begin as safetensors does
        return read_index(name)
    if form is not None:
        return READERS[form](file, name, size)
    if begin[257:262] == b"ustar":
        raise Unreadable("a tar file, as torch wrote before 0.1.10: load and save it with an old torch first")
    return _pickle(file, name, size)


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
    marked = file.read(1) == b"\x80"  # protocol 2 or later
    file.seek(0)
    try:
        found = load(file.read(min(size, PICKLE_MOST)), os.path.basename(name), Rebuilder())
    except Unreadable:
        if marked:
            raise
        found = None
    if found is None or not (marked or _is_pickle(found, size)):
        raise Unreadable(
            "not a checkpoint: neither torch.save's zip or older format, nor safetensors, nor a pickle"
        )
    if found.root == MAGIC:  # hidden behind more than is_legacy looks at
        return read_legacy(file, name, size)
    return Checkpoint(
        path=name, kind=Format.PICKLE, version=str(found.protocol), size=size, root=found.root, suspects=found.suspects,
        trouble=found.trouble, notes=[NOT_OF_TORCH],
    )  # fmt: skip


def _is_pickle(found: Loaded, size: int) -> bool:
    """Return whether what was walked over is a pickle of protocol 0 or 1, and not bytes that only begin like one."""
    if found.trouble:
        return any(suspect.opcode not in IMPORTS for suspect in found.suspects)
    return bool(found.suspects) or found.end == size
