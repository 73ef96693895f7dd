"""Change the tree of a checkpoint: take entries out, rename the keys of its state dicts; tell what was changed."""

import fnmatch
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from gpudoctor.checkpoint.description.modules import is_nn_module
from gpudoctor.checkpoint.description.search import below, joined
from gpudoctor.checkpoint.description.state_dicts import is_optimizer, is_state_dict, mapping, metadata
from gpudoctor.checkpoint.repair.rename import LONGEST, Rename, moved_versions, renamed_pairs, steps
from gpudoctor.checkpoint.tree import Call, Checkpoint, Tensor, Unreadable, tensors_in
from gpudoctor.text import listed, shown

MODULE = "a whole pickled module, which has no keys: load it where its classes are, and save its state_dict()"
ENTRIES_DEEP = 8
"""Levels on which a glob looks for entries."""


class Changes(Struct, frozen=True, kw_only=True):
    """What is to be changed, in this order."""

    drop: tuple[str, ...] = ()
    """Entries to take out, ``optimizer``, ``model.fc.weight``, or a glob for whole paths, ``model.neck.*``."""
    select: str | None = None
    """The entry that becomes the whole."""
    strip: tuple[str, ...] = ()
    """Prefixes to take away, one after the other."""
    add: tuple[str, ...] = ()
    """Prefixes to put in front, one after the other."""
    renames: tuple[Rename, ...] = ()
    device: str | None = None
    """Where storages are to be restored to: ``cpu``."""

    @property
    def names(self) -> bool:
        """Return whether keys are to be renamed."""
        return bool(self.strip or self.add or self.renames)

    @property
    def fewer(self) -> bool:
        """Return whether entries are to be taken out."""
        return bool(self.drop) or self.select is not None


class Renamed(Struct, frozen=True):
    """A key that got another name."""

    entry: str
    """Path of the state dict; empty for the file itself."""
    old: str
    new: str


class Dropped(Struct, frozen=True):
    """An entry that was taken out."""

    entry: str
    tensors: int
    size: int
    """Bytes of its tensors."""


def mend(checkpoint: Checkpoint, changes: Changes) -> tuple[list[Renamed], list[Dropped]]:
    """Change the tree in place; raises `Unreadable` where a change is for nothing or would lose something."""
    dropped = [gone for entry in changes.drop for gone in _drop(checkpoint, entry)]
    if changes.select is not None:
        container, key = find(checkpoint.root, changes.select)
        keep = {id(tensor) for _, tensor in tensors_in(container[key])}
        dropped += [
            _counted(str(name), value, keep)
            for name, value in (mapping(checkpoint.root) or {}).items()
            if value is not container[key] and not changes.select.startswith(f"{name}.")
        ]
        checkpoint.root = container[key]
    return (_rename_all(checkpoint, changes) if changes.names else []), dropped


def find(node: Any, entry: str) -> tuple[dict[Any, Any], Any]:
    """Return the dict that has an entry, and its key in it; keys may have dots. Raises `Unreadable`."""
    found = _find(node, entry)
    if found is None:
        held = mapping(node)
        there = f"it has {listed([str(key) for key in held], 8)}" if held else "it is no dict"
        raise Unreadable(f"no entry {shown(entry)}: {there}")
    return found


def _find(node: Any, entry: str) -> tuple[dict[Any, Any], Any] | None:
    held = mapping(node)
    if held is None:
        return None
    for head in (entry, *(entry[: match.start()] for match in reversed(list(re.finditer(r"\.", entry))))):
        key = head if head in held else int(head) if head.isdecimal() and len(head) < 19 else head
        if key not in held:
            continue
        if head == entry:
            return held, key
        deeper = _find(held[key], entry[len(head) + 1 :])
        if deeper is not None:
            return deeper
    return None


def state_dicts(root: Any) -> list[tuple[str, Any, dict[str, Any]]]:
    """Return the state dicts in a tree: the path, the node and the keys of each.

    An optimizer's state is none, and neither are the attributes of a pickled module.
    """
    found = []
    stack: list[tuple[str, Any]] = [("", root)]
    seen: set[int] = set()
    while stack:
        path, node = stack.pop()
        if id(node) in seen or not isinstance(node, (dict, list, tuple, Call)) or is_nn_module(node):
            continue
        seen.add(id(node))
        held = mapping(node)
        if held is not None and (is_state_dict(held) or _is_emptied(node, held)):
            found.append((path, node, held))
        elif held is None or not is_optimizer(held):
            stack += reversed([(joined(path, key), child) for key, child in below(node)])
    return found


def _is_emptied(node: Any, held: dict[Any, Any]) -> bool:
    """Return whether a dict without tensors is that of a module nevertheless."""
    return metadata(node) is not None and all(isinstance(key, str) for key in held)


def _drop(checkpoint: Checkpoint, entry: str) -> list[Dropped]:
    """Take out an entry, or all that a glob means."""
    found = _find(checkpoint.root, entry)
    if found is None and any(c in entry for c in "*?["):
        named = list(_meant(checkpoint.root, entry))
        if not named:
            raise Unreadable(f"no entry is meant by --drop {shown(entry)}")
    else:
        named = [(entry, *(found or find(checkpoint.root, entry)))]
    values = [(path, container.pop(key)) for path, container, key in named]
    keep = {id(tensor) for _, tensor in checkpoint.tensors()}
    return [_counted(path, value, keep) for path, value in values]


def _meant(root: Any, pattern: str) -> Iterator[tuple[str, dict[Any, Any], Any]]:
    """Yield the entries whose whole path a glob matches, with the dict and the key that they are under."""
    meant = re.compile(fnmatch.translate(pattern)).match
    stack: list[tuple[str, Any, int]] = [("", root, 0)]
    seen: set[int] = set()  # what holds itself is looked at once
    while stack:
        above, node, depth = stack.pop()
        held = mapping(node) if depth < ENTRIES_DEEP and id(node) not in seen else None
        seen.add(id(node))
        for key, value in list(held.items()) if held is not None else ():
            path = joined(above, key)
            if len(path) <= LONGEST and meant(path):
                yield path, held or {}, key
            else:
                stack.append((path, value, depth + 1))


def _counted(entry: str, value: Any, keep: set[int]) -> Dropped:
    gone = {id(tensor): tensor.size for _, tensor in tensors_in(value) if id(tensor) not in keep}
    return Dropped(entry, len(gone), sum(gone.values()))


def _rename_all(checkpoint: Checkpoint, changes: Changes) -> list[Renamed]:
    found = state_dicts(checkpoint.root)
    if not found:
        none = "no state dict in it, so there are no keys to rename"
        raise Unreadable(MODULE if is_nn_module(checkpoint.root) else none)
    todo = steps(changes.strip, changes.add, changes.renames)
    every = renamed_pairs(todo, [(path, list(held)) for path, _, held in found])
    renamed: list[Renamed] = []
    for (path, node, held), pairs in zip(found, every, strict=True):
        renamed += [Renamed(path, a, b) for a, b in pairs if a != b]
        versions = metadata(node)
        if versions is not None:
            _replace(versions, moved_versions(versions, pairs, todo))
        _replace(held, [(b, held[a]) for a, b in pairs])
    return renamed


def _replace(held: dict[Any, Any], pairs: list[tuple[Any, Any]]) -> None:
    held.clear()
    held.update(pairs)


def tensors_alone(root: Any) -> dict[str, Tensor] | None:
    """Return a root that is nothing but names and tensors, else ``None``."""
    held = mapping(root)
    if not held or not all(isinstance(k, str) and isinstance(v, Tensor) for k, v in held.items()):
        return None
    return held
