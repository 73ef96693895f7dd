"""Say what is in a checkpoint: which of its parts are state dicts, optimizers, numbers; their keys; what is shared."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from msgspec.structs import replace

from gpudoctor.checkpoint.description.dtensors import WRAPPED, local, rank_part
from gpudoctor.checkpoint.description.foreign_code import holders
from gpudoctor.checkpoint.description.modules import is_nn_module, is_script, module_keys
from gpudoctor.checkpoint.description.state_dicts import (
    inside,
    is_optimizer,
    is_state_dict,
    mapping,
    others,
    versions,
)
from gpudoctor.checkpoint.description.wrappers import prefixes
from gpudoctor.checkpoint.tree import Call, Checkpoint, Global, Storage, Tensor, children
from gpudoctor.facts import CheckpointFile, Entry, Foreign, Key, Optimizer, StateDict
from gpudoctor.text import count

__all__ = ["is_optimizer", "is_state_dict", "joined", "key_of", "mapping", "nested", "survey"]

TOGETHER = (
    "it does not load alone. Save all of it (get_model_state_dict with full_state_dict=True; FSDP 1: FULL_STATE_DICT), "
    "or save and load with torch.distributed.checkpoint"
)
DEEPEST = 6
"""Levels below which no state dict is looked for."""
ENTRIES_MOST = 1000
PATHS_MOST = 1 << 28
"""Characters of tensors' paths that are kept to say which share a storage; a million tensors have a third of that."""
SHOWN_MOST = 80
"""Characters of a text that are kept."""
LIGHTNING = "pytorch-lightning_version"
ENTRIES = frozenset(
    "app model module state_dict model_state_dict optimizer optim optimizer_state_dict ema lr_scheduler".split()
)
"""What the entries of a checkpoint are called where their names are only the beginning of keys."""


def survey(checkpoint: Checkpoint) -> CheckpointFile:
    """Describe what was read: entries, state dicts, optimizers, sharing, and what opening the file would run.

    Nothing is read again and nothing is run; a second for a million keys.
    """
    if checkpoint.kind == "distributed" and isinstance(checkpoint.root, dict):
        checkpoint = replace(checkpoint, root=nested(checkpoint.root))
    found = _Finder(checkpoint)
    found.look(checkpoint.root, "", 0)
    entries = list(islice(_entries(checkpoint.root, found), ENTRIES_MOST + 1))
    notes = [*checkpoint.notes, *_parts(found.state_dicts.values())]
    if len(entries) > ENTRIES_MOST:
        notes.append(f"more than {ENTRIES_MOST} entries: the first are listed")
    return CheckpointFile(
        path=checkpoint.path,
        kind=checkpoint.kind,
        version=checkpoint.version,
        size=checkpoint.size,
        entries=tuple(entries[:ENTRIES_MOST]),
        state_dicts=tuple(found.state_dicts.values()),
        optimizers=tuple(found.optimizers.values()),
        foreign=_foreign(checkpoint),
        trouble=tuple(checkpoint.trouble),
        notes=tuple(notes),
        shared=_shared(checkpoint, found),
    )


def _parts(states: Iterable[StateDict]) -> Iterator[str]:
    """Say of state dicts that are one rank's part how they are put together."""
    for state in states:
        if state.sharded:
            named = f"{state.entry}: " if state.entry else ""
            yield f"{named}{state.sharded}: {TOGETHER}"


def nested(flat: dict[Any, Any], depth: int = 2) -> dict[Any, Any]:
    """Return the entries of a distributed checkpoint, whose keys are those of all entries joined with dots.

    Tensors alone under one first name are left as they are: that name may be the model's own attribute.
    """
    tops = {key.partition(".")[0] for key in flat if isinstance(key, str)}
    names = ENTRIES - flat.keys()  # an entry is either whole or parts
    if not depth or (len(tops) < 2 and all(isinstance(value, Tensor) for value in flat.values())):
        return flat
    made: dict[Any, Any] = {}
    inner: dict[str, dict[Any, Any]] = {}
    for key, value in flat.items():
        top, dot, rest = str(key).partition(".")
        if dot and top in names:
            made[top] = inner.setdefault(top, {})
            inner[top][rest] = value
        else:
            made[key] = value
    return {k: nested(value, depth - 1) if k in inner else value for k, value in made.items()}


def key_of(name: str, tensor: Tensor) -> Key:
    """Describe a tensor by its name; of one that is split over ranks, what this file has of it."""
    storage = tensor.storage
    here = local(tensor) if tensor.layout == WRAPPED else ()
    return Key(
        name=name, dtype=tensor.dtype, shape=tensor.shape,
        size=sum(part.size for part in here) if here else tensor.size,
        device=here[0].device if here else tensor.device, layout=tensor.layout,
        storage=storage.key if storage is not None else None,
    )  # fmt: skip


def joined(path: str, key: Any) -> str:
    """Return the path of what lies under a key."""
    return f"{path}.{key}" if path else str(key)


class _Finder:
    """Finds the state dicts and optimizers of a tree, by their paths and by the nodes that they are."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        root = mapping(checkpoint.root)
        self.lightning = root is not None and LIGHTNING in root
        self.state_dicts: dict[int, StateDict] = {}
        self.optimizers: dict[int, Optimizer] = {}
        self.modules: dict[int, str] = {}
        self.tensors: dict[int, list[tuple[str, Tensor]]] = {}
        self.seen: set[int] = set()

    def look(self, node: Any, path: str, depth: int) -> None:
        """Look at a node and below it."""
        if depth > DEEPEST or id(node) in self.seen or not isinstance(node, (dict, list, tuple, Call)):
            return
        self.seen.add(id(node))
        items = mapping(node)
        if items is not None and is_state_dict(items):
            named = [(name, value) for name, value in items.items() if isinstance(value, Tensor)]
            self._keep(node, path, named, others(items))
        elif items is not None and is_optimizer(items):
            groups = [mapping(group) or {} for group in items["param_groups"]]
            sizes = tuple(len(p) if isinstance(p := g.get("params"), (list, tuple)) else 0 for g in groups)
            states = mapping(items["state"])
            self.optimizers[id(node)] = Optimizer(entry=path, groups=sizes, states=len(states or {}))
        elif isinstance(node, Call) and (is_nn_module(node) or is_script(node)):
            self.modules[id(node)] = node.name
            if named := list(module_keys(node)):
                self._keep(node, path, named)
        else:
            for key, value in _below(node):
                self.look(value, joined(path, key), depth + 1)

    def _keep(
        self, node: Any, path: str, named: list[tuple[str, Tensor]], others: tuple[str, ...] = ()
    ) -> None:
        self.tensors[id(node)] = named
        keys = tuple(key_of(name, tensor) for name, tensor in named)
        marks = prefixes([name for name, _ in named], lightning=self.lightning)
        self.state_dicts[id(node)] = StateDict(
            entry=path, keys=keys, prefixes=marks, others=others, versions=versions(node),
            sharded=rank_part(tensor for _, tensor in named),
        )  # fmt: skip


def _below(node: Any) -> Iterator[tuple[Any, Any]]:
    items = mapping(node)
    return iter(items.items()) if items is not None else children(node)


def _entries(root: Any, found: _Finder) -> Iterator[Entry]:
    """Yield what is at the top and, below what is only a dict or a list, one level more."""
    whole = _entry("", root, found)
    if whole.kind not in ("dict", "list"):
        yield whole
        return
    for key, value in _below(root):
        entry = _entry(str(key), value, found)
        yield entry
        if entry.kind in ("dict", "list", "object"):
            for inner, below in _below(value):
                yield _entry(joined(str(key), inner), below, found)


def _entry(path: str, node: Any, found: _Finder) -> Entry:
    kind, text = _kind(node, found)
    state = found.state_dicts.get(id(node))
    if state is None:
        counted = list(_tensors_in(node))
        size = sum(key_of("", tensor).size for tensor in counted)
        return Entry(path=path[:200], kind=kind, tensors=len(counted), size=size, text=text)
    held = mapping(node) if state.others else None
    packed = list(_once(tensor for name in state.others for tensor in inside((held or {}).get(name))))
    size = sum(key.size for key in state.keys) + sum(tensor.size for tensor in packed)
    return Entry(path=path[:200], kind=kind, tensors=len(state.keys) + len(packed), size=size, text=text)


def _kind(node: Any, found: _Finder) -> tuple[str, str]:
    """Return what a node is, and a few words on it."""
    if id(node) in found.modules:
        return "module", found.modules[id(node)]
    if id(node) in found.state_dicts:
        return "state dict", ""
    if id(node) in found.optimizers:
        optimizer = found.optimizers[id(node)]
        return "optimizer", f"{count(len(optimizer.groups), 'group')}, {sum(optimizer.groups)} parameters"
    if isinstance(node, Tensor):
        return "tensor", f"{node.dtype} {list(node.shape)}"
    if (items := mapping(node)) is not None:
        return "dict", count(len(items), "item")
    if isinstance(node, (list, tuple, set, frozenset)):
        return "list", count(len(node), "item")
    if isinstance(node, (str, bytes, bytearray)):
        text = node if isinstance(node, str) else f"{len(node)} bytes"
        return "text", text[:SHOWN_MOST] + ("…" if len(text) > SHOWN_MOST else "")
    if isinstance(node, (bool, int, float, complex)):
        return "number", _number(node)
    if isinstance(node, Call):
        return "object", node.name
    return "object", node.full if isinstance(node, Global) else type(node).__name__


def _number(value: complex) -> str:
    if isinstance(value, int) and value.bit_length() > 256:
        return f"a number of {value.bit_length()} bits"  # which Python would refuse to write out
    return str(value)


def _tensors_in(node: Any) -> Iterator[Tensor]:
    """Yield the tensors below a node, each once."""
    if isinstance(node, Tensor):
        yield node
    elif isinstance(node, (dict, list, tuple, set, frozenset, Call)):
        for _, tensor in Checkpoint(path="", kind="", root=node).tensors():
            yield tensor


def _once(tensors: Iterable[Tensor]) -> Iterator[Tensor]:
    """Yield those tensors that are no other view of what came before: packed weights name their biases twice."""
    seen = set()
    for tensor in tensors:
        place = (tensor.storage, tensor.offset, tensor.shape)
        if tensor.storage is None or place not in seen:
            seen.add(place)
            yield tensor


def _shared(checkpoint: Checkpoint, found: _Finder) -> tuple[tuple[str, ...], ...]:
    """Return the tensors that lie in one storage, in groups, by their paths."""
    counts = Counter(t.storage.key for _, t in checkpoint.tensors() if t.storage is not None)
    if not found.modules and len(counts) == counts.total():  # no path is needed
        return ()
    groups: dict[tuple[str, str], list[str]] = {}
    room = PATHS_MOST
    for path, storage in _places(checkpoint, found):
        if storage is not None and storage.size and room > 0:
            groups.setdefault((storage.key, storage.device), []).append(path)
            room -= len(path)
    return tuple(tuple(dict.fromkeys(group)) for group in groups.values() if len(group) > 1)


def _places(checkpoint: Checkpoint, found: _Finder) -> Iterator[tuple[str, Storage | None]]:
    if found.modules:  # by the names that they have as keys
        for node, state_dict in found.state_dicts.items():
            for name, tensor in found.tensors[node]:
                yield joined(state_dict.entry, name), tensor.storage
        return
    for path, tensor in checkpoint.tensors():
        yield ".".join(map(str, path)), tensor.storage


def _foreign(checkpoint: Checkpoint) -> tuple[Foreign, ...]:
    """Return what opening the file would import or call, with the opcode that does it."""
    within = holders(checkpoint.root, {s.name for s in checkpoint.suspects}) if checkpoint.suspects else {}
    return tuple(
        Foreign(name=s.name, opcode=s.opcode, place=s.place, entry=s.entry, within=within.get(s.name, ()))
        for s in checkpoint.suspects
    )
