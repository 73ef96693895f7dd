"""Say what is in a checkpoint: its entries, state dicts, optimizers; what is shared; what opening it would run."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from msgspec.structs import replace

from gpudoctor.checkpoint.description.entries import entries
from gpudoctor.checkpoint.description.foreign_code import foreign
from gpudoctor.checkpoint.description.search import Found, joined
from gpudoctor.checkpoint.formats.checksums import wrong_records
from gpudoctor.checkpoint.tree import Checkpoint, Heard, Storage, Tensor, unheard
from gpudoctor.facts.checkpoint_file import CheckpointFile, Format, StateDict

TOGETHER = (
    "it does not load alone. Save all of it (get_model_state_dict with full_state_dict=True; FSDP 1: FULL_STATE_DICT), "
    "or save and load with torch.distributed.checkpoint"
)
ENTRIES_MOST = 1000
PATHS_MOST = 1 << 28
"""Characters of tensors' paths that are kept to say which share a storage; a million tensors have a third of that."""
ENTRIES = frozenset(
    "app model module state_dict model_state_dict optimizer optim optimizer_state_dict ema lr_scheduler".split()
)
"""What the entries of a checkpoint are called where their names are only the beginning of keys."""


def describe(checkpoint: Checkpoint, *, verify: bool = False, heard: Heard = unheard) -> CheckpointFile:
    """Describe what was read: entries, state dicts, optimizers, sharing, and what opening the file would run.

    Nothing is run; a second for a million keys. With `verify` alone the file is read again, where it is a zip file:
    each record is compared with its checksum, and `heard` is told how many bytes are. Raises `Unreadable` where it
    cannot be opened any more.
    """
    trouble = list(checkpoint.trouble)
    if verify and checkpoint.kind in (Format.TORCH_ZIP, Format.TORCHSCRIPT):
        trouble += wrong_records(checkpoint.path, checkpoint.size, heard)
    if checkpoint.kind == Format.DISTRIBUTED and isinstance(checkpoint.root, dict):
        checkpoint = replace(checkpoint, root=nested(checkpoint.root))
    found = Found(checkpoint)
    found.look(checkpoint.root, "", 0)
    listed = list(islice(entries(checkpoint.root, found), ENTRIES_MOST + 1))
    notes = [*checkpoint.notes, *_rank_parts(found.state_dicts.values())]
    if len(listed) > ENTRIES_MOST:
        notes.append(f"more than {ENTRIES_MOST} entries: the first are listed")
    return CheckpointFile(
        path=checkpoint.path,
        kind=checkpoint.kind,
        version=checkpoint.version,
        size=checkpoint.size,
        entries=tuple(listed[:ENTRIES_MOST]),
        state_dicts=tuple(found.state_dicts.values()),
        optimizers=tuple(found.optimizers.values()),
        foreign=foreign(checkpoint),
        trouble=tuple(trouble),
        notes=tuple(notes),
        shared=_shared(checkpoint, found),
    )


def _rank_parts(states: Iterable[StateDict]) -> Iterator[str]:
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


def _shared(checkpoint: Checkpoint, found: Found) -> tuple[tuple[str, ...], ...]:
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


def _places(checkpoint: Checkpoint, found: Found) -> Iterator[tuple[str, Storage | None]]:
    if found.modules:  # by the names that they have as keys
        for node, state_dict in found.state_dicts.items():
            for name, tensor in found.tensors[node]:
                yield joined(state_dict.entry, name), tensor.storage
        return
    for path, tensor in checkpoint.tensors():
        yield ".".join(map(str, path)), tensor.storage
