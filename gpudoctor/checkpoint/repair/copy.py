"""Write a mended copy of a checkpoint: a new small pickle, and the tensors' bytes as they are."""

import os
import stat
from contextlib import suppress

from msgspec import Struct

from gpudoctor.checkpoint.formats.reader import read
from gpudoctor.checkpoint.repair.copy_legacy import LegacySource
from gpudoctor.checkpoint.repair.copy_safetensors import SafetensorsSource
from gpudoctor.checkpoint.repair.copy_zip import ZipSource
from gpudoctor.checkpoint.repair.edit import Changes, Dropped, Renamed, mend
from gpudoctor.checkpoint.repair.whole_file import whole
from gpudoctor.checkpoint.tree import Checkpoint, Heard, Unreadable, unheard
from gpudoctor.facts.checkpoint_file import Foreign, Format

SOURCES: dict[Format, type[ZipSource | LegacySource | SafetensorsSource]] = {
    Format.TORCH_ZIP: ZipSource,
    Format.TORCH_LEGACY: LegacySource,
    Format.SAFETENSORS: SafetensorsSource,
}
NOT_WRITTEN = {
    Format.TORCHSCRIPT: "a TorchScript archive, whose code has its own names: "
    "load it with torch.jit.load and save its state_dict()",
    Format.PICKLE: "a plain pickle, which torch.load does not read; there is nothing to mend in it",
    Format.SHARDED: "a sharded set: give one of its files",
    Format.DISTRIBUTED: "a distributed checkpoint: make a file of it first, with "
    "python -m torch.distributed.checkpoint.format_utils dcp_to_torch FOLDER FILE",
}


class Fixed(Struct, kw_only=True):
    """What a copy has that the original has not."""

    source: str
    target: str | None
    """``None`` where nothing was written."""
    kind: Format
    """Of the original."""
    form: Format
    """Of the copy."""
    renamed: list[Renamed]
    dropped: list[Dropped]
    moved: int = 0
    """Number of storages that are restored to another device."""
    size: int = 0
    """Bytes of the copy; about that many where nothing was written."""
    suspects: list[Foreign] = []
    """What opening the copy would run; where nothing was written, the original."""


def fix(
    source: str,
    target: str | None,
    changes: Changes,
    *,
    form: Format | None = None,
    force: bool = False,
    heard: Heard = unheard,
) -> Fixed:
    """Write a copy of `source` with `changes` to `target`, whole or not at all; for no `target`, see what it would be.

    `form` is the format of the copy where it is to have another one: `Format.TORCH_ZIP` or `Format.SAFETENSORS`.
    Nothing in the file is run, its tensors are not decoded, and it is not written to. A target that exists is replaced
    only with `force`. `heard` is told how many bytes are written, and of how many. Raises
    `gpudoctor.checkpoint.Unreadable`, whose text is one line.
    """
    try:
        if target is not None:
            _refuse_target(source, target, force)
        return _fix(source, target, changes, form, heard)
    except OSError as error:
        name = error.filename if isinstance(error.filename, str) else target or source
        raise Unreadable(f"{name}: {error.strerror or error}: nothing was written") from None
    except (MemoryError, RecursionError):
        raise Unreadable(f"{source}: too large or too deeply nested: nothing was written") from None


def _fix(source: str, target: str | None, changes: Changes, form: Format | None, heard: Heard) -> Fixed:
    descriptor = _open(source)
    try:
        before = _identity(os.fstat(descriptor))
        checkpoint = read(source)
        try:
            form = _form(checkpoint, form)
            origin = SOURCES[checkpoint.kind](checkpoint, descriptor)
            renamed, dropped = mend(checkpoint, changes)
            copy = origin.copy(changes, form)
            _refuse_nothing(changes, renamed, dropped, copy.moved, form != checkpoint.kind)
        except Unreadable as error:
            raise Unreadable(f"{source}: {error}") from None
        result = Fixed(
            source=source, target=target, kind=checkpoint.kind, form=form, renamed=renamed, dropped=dropped,
            moved=copy.moved, size=copy.size, suspects=[] if form == Format.SAFETENSORS else checkpoint.suspects,
        )  # fmt: skip
        if target is not None:
            with whole(target, copy.size, heard) as file:
                copy.write(file)
                result.size = file.position
                if _identity(os.fstat(descriptor)) != before or _identity(os.stat(source)) != before:
                    raise Unreadable(f"{source}: it changed while it was copied: nothing was written")
            if result.suspects and (changes.drop or changes.select is not None):
                result.suspects = read(target).suspects  # what is left out runs no more
        return result
    finally:
        os.close(descriptor)


def _open(source: str) -> int:
    """Open a file for reading; what is no file is left to `read` to refuse."""
    if not stat.S_ISREG(os.stat(source).st_mode):
        checkpoint = read(source)
        raise Unreadable(f"{source}: {NOT_WRITTEN.get(checkpoint.kind, 'no file')}")
    return os.open(source, os.O_RDONLY)


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _form(checkpoint: Checkpoint, form: Format | None) -> Format:
    """Return the format of the copy; raises `Unreadable` for what no copy can be made of."""
    if checkpoint.kind not in SOURCES:
        raise Unreadable(NOT_WRITTEN.get(checkpoint.kind, f"no copy can be made of a {checkpoint.kind} file"))
    if checkpoint.trouble:
        raise Unreadable(f"it is damaged, and a copy would be too: {checkpoint.trouble[0]}")
    if form == Format.TORCH_ZIP and checkpoint.kind == Format.SAFETENSORS:
        raise Unreadable("a safetensors file becomes no zip: --to-zip is for what torch wrote before 1.6")
    return form or checkpoint.kind


def _refuse_nothing(
    changes: Changes, renamed: list[Renamed], dropped: list[Dropped], moved: int, converted: bool
) -> None:
    """Raise `Unreadable` where a copy would be what the original is."""
    if not (renamed or dropped or moved or converted or changes.select is not None):
        device = f"everything was saved from {changes.device}" if changes.device is not None else ""
        raise Unreadable(f"nothing to change: {device or 'it has that format already'}")


def _refuse_target(source: str, target: str, force: bool) -> None:
    """Raise `Unreadable` for a target that is the source, a folder or device, or there already."""
    folder = os.path.dirname(os.path.realpath(target))
    if not os.path.isdir(folder) or (target.endswith("/") and not os.path.isdir(target)):
        raise Unreadable(f"-o {target}: no folder {os.path.dirname(target)}")
    with suppress(FileNotFoundError):
        there = os.stat(target)
        if os.path.exists(source) and os.path.samestat(there, os.stat(source)):
            raise Unreadable(f"-o {target}: that is the file itself, which is never written to")
        if not stat.S_ISREG(there.st_mode):
            raise Unreadable(f"-o {target}: it is there, and it is no file")
        if not force:
            raise Unreadable(f"-o {target}: it is there already; --force replaces it")
