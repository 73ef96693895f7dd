"""Read a sharded set by its ``*.index.json``, as Hugging Face's libraries write it."""

import os
import stat
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.checkpoint.formats.detection import BEGIN, READERS, format_of
from gpudoctor.checkpoint.formats.file_set import apart, opened, plain
from gpudoctor.checkpoint.tree import WIDTHS, Call, Checkpoint, Unreadable
from gpudoctor.facts.checkpoint_file import Format
from gpudoctor.text import capped, count, listed, shown

INDEX_MOST = 100_000_000
"""Bytes of the index; a set of 100,000 tensors has a tenth of that."""


class _Index(Struct):
    weight_map: dict[str, str]
    metadata: dict[str, Any] | None = None


def read_index(path: str) -> Checkpoint:
    """Read an index and the headers of its shards; raises `Unreadable` where the index itself is broken.

    The root is one dict of all keys in the index's order. A storage's key begins with its shard's name. A shard that
    is missing or broken, or that lies outside of the folder, is told as trouble, and its keys are left out.
    """
    index = _index(path)
    checkpoint = Checkpoint(path=path, kind=Format.SHARDED, size=os.path.getsize(path))
    held: dict[str, Any] = {}
    trouble: list[str] = []
    for name, keys, shard in shards(path, index):
        if isinstance(shard, str):
            trouble.append(f"{shard} ({count(len(keys), 'key')}: {listed(keys)})")
            continue
        root = _entries(shard.root)
        held.update(apart({key: root[key] for key in keys if key in root}, name))
        trouble += _shard_trouble(name, shard, [key for key in keys if key not in root])
        _note(checkpoint, name, shard, root.keys() - keys)
        checkpoint.size += shard.size
    checkpoint.root = {key: held[key] for key in index.weight_map if key in held}
    if not trouble:
        trouble += _total_trouble(index.metadata, checkpoint)
    checkpoint.trouble = capped(trouble)
    checkpoint.notes = capped(checkpoint.notes)
    return checkpoint


def shards(path: str, index: _Index | None = None) -> Iterator[tuple[str, list[str], Checkpoint | str]]:
    """Yield the files of a sharded set: the name, its keys in the index, and what it holds or why it cannot be read.

    Raises `Unreadable` where the index itself is broken.
    """
    by_name: dict[str, list[str]] = defaultdict(list)
    for key, name in (index or _index(path)).weight_map.items():
        by_name[plain(name)].append(key)
    for name, keys in by_name.items():
        try:
            yield name, keys, _shard(os.path.dirname(path), name)
        except Unreadable as error:
            yield name, keys, f"shard {shown(name)}: {error}"


def _index(path: str) -> _Index:
    if not stat.S_ISREG(os.stat(path).st_mode):  # before it is opened: opening a pipe would wait
        raise Unreadable(f"{os.path.basename(path)} is not a file")
    with open(path, "rb") as file:
        data = file.read(INDEX_MOST + 1)
    if len(data) > INDEX_MOST:
        raise Unreadable(f"an index of more than {INDEX_MOST} bytes")
    try:
        return msgspec.json.decode(data, type=_Index)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise Unreadable(f"not the index of a sharded checkpoint: {error}") from None
    except RecursionError:
        raise Unreadable("not the index of a sharded checkpoint: nested too deeply") from None


def _shard(folder: str, name: str) -> Checkpoint:
    """Read one shard: no index of its own, so that an index which names itself ends here."""
    file, size = opened(folder, name)
    with file:
        try:
            begin = file.read(BEGIN)
            form = format_of(begin, size)
            if form is not None:
                return READERS[form](file, os.path.join(folder, name), size)
        except OSError as error:
            raise Unreadable(error.strerror or type(error).__name__) from None
        except (MemoryError, RecursionError):
            raise Unreadable("too large or too deeply nested for a checkpoint") from None
    raise Unreadable("empty" if not begin else "neither safetensors nor what torch.save writes")


def _entries(root: Any) -> dict[Any, Any]:
    if isinstance(root, Call):  # an OrderedDict
        return root.pairs
    return root if isinstance(root, dict) else {}


def _shard_trouble(name: str, shard: Checkpoint, missing: list[str]) -> Iterator[str]:
    for line in shard.trouble:
        yield f"shard {shown(name)}: {line}"
    if missing:
        yield f"shard {shown(name)} does not have {count(len(missing), 'key')} of the index: {listed(missing)}"


def _note(checkpoint: Checkpoint, name: str, shard: Checkpoint, more: set[Any]) -> None:
    """Take over what opening the shard would run, and say which keys a loader finds that the index does not name."""
    checkpoint.suspects += [replace(each, entry=f"{name}/{each.entry}") for each in shard.suspects]
    notes = [line for line in shard.notes if line != "metadata format: pt"]
    checkpoint.notes += [f"shard {shown(name)}: {line}" for line in notes]
    if more:
        beyond = f"{count(len(more), 'key')} beyond the index: {listed(sorted(map(str, more)))}"
        checkpoint.notes.append(f"shard {shown(name)} has {beyond}")


def _total_trouble(metadata: dict[str, Any] | None, checkpoint: Checkpoint) -> Iterator[str]:
    """Compare the bytes that the index claims with those of the tensors, shared ones counted once or each time."""
    said = (metadata or {}).get("total_size")
    if isinstance(said, bool) or not isinstance(said, (int, float)):
        return
    tensors = [tensor for _, tensor in checkpoint.tensors()]
    if not all(tensor.dtype in WIDTHS for tensor in tensors):
        return
    each = sum(tensor.size for tensor in tensors)
    once: dict[Any, int] = {}
    for tensor in tensors:
        key = tensor.storage.key if tensor.storage else id(tensor)
        once[key] = max(tensor.size, once.get(key, 0))
    if said not in (each, sum(once.values())):
        yield f"the index says that the tensors have {said} bytes in total, and they have {each}"
