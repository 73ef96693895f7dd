"""What is in a checkpoint file: its entries, the keys of its state dicts, and what opening it would run."""

import enum
import os
import shlex

from msgspec import Struct

STANDARD_INPUT = "standard input"
"""The path of what was read from there: it has none."""


class Format(str, enum.Enum):
    """What a checkpoint is as a file, or as a set of files."""

    TORCH_ZIP = "torch zip"
    """What ``torch.save`` writes since 1.6."""
    TORCH_LEGACY = "torch legacy"
    """What it wrote before."""
    TORCHSCRIPT = "torchscript"
    SAFETENSORS = "safetensors"
    SHARDED = "sharded"
    """The files that an ``*.index.json`` names."""
    DISTRIBUTED = "distributed"
    """A folder of ``torch.distributed.checkpoint``."""
    PICKLE = "pickle"
    """A plain pickle, which ``torch.load`` does not read."""
    UNKNOWN = "unknown"
    """What could not be read, or is no checkpoint."""

    __str__ = str.__str__


class Entry(Struct, frozen=True, kw_only=True):
    """One thing that the file holds, at the top or one level below."""

    path: str
    """``model``, ``optimizer.state``; empty for the file itself."""
    kind: str
    """``state dict``, ``optimizer``, ``tensor``, ``number``, ``text``, ``dict``, ``list``, ``module``, ``object``."""
    tensors: int = 0
    size: int = 0
    """Bytes of its tensors' elements."""
    text: str = ""
    """What a number or a short text is; how many items a list or dict has; what class an object is of."""


class Key(Struct, frozen=True, kw_only=True):
    """A tensor in a state dict."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    size: int
    """Bytes of its elements."""
    device: str
    """Where it was when it was saved."""
    layout: str = "strided"
    storage: str | None = None
    """Key of the storage that it lies in."""


class Prefix(Struct, frozen=True, kw_only=True):
    """The beginning that keys of a state dict share because a wrapper put it there."""

    text: str
    """``module.``, ``module._orig_mod.``: nested ones in the order in which they stand."""
    keys: int
    """How many keys bear it."""
    total: int
    """How many keys there are."""
    wrapper: str
    """Who put it there: ``DataParallel or DistributedDataParallel``, ``torch.compile``, ``FSDP``, ``Lightning`` …"""


class StateDict(Struct, frozen=True, kw_only=True):
    """A dict of names and tensors that a module could load."""

    entry: str
    """Path of the entry that it is, empty for the file itself."""
    keys: tuple[Key, ...]
    prefixes: tuple[Prefix, ...] = ()
    """The longest first; empty where no wrapper's name stands in front."""
    others: tuple[str, ...] = ()
    """Names of its entries that are no tensors: ``fc._extra_state``, the packed weights of a quantised layer."""
    versions: dict[str, int] = {}
    """The version of each module's format, by the module's name, from ``_metadata``; empty is the whole model's."""
    sharded: str = ""
    """What the file has where that is one rank's part of its tensors, ``one rank's part of …``; empty where whole."""

    @property
    def of_entry(self) -> str:
        """Which entry it is, to stand behind a noun: `` of 'model'``; empty where it is the file itself."""
        return f" of {self.entry!r}" if self.entry else ""


class Optimizer(Struct, frozen=True, kw_only=True):
    """The state of an optimizer."""

    entry: str
    groups: tuple[int, ...]
    """Number of parameters in each parameter group."""
    states: int
    """Number of parameters that it keeps a state for."""


class Foreign(Struct, frozen=True):
    """Something that opening the file would import or call, beyond what ``torch.load(weights_only=True)`` allows."""

    name: str
    """``module.name``."""
    opcode: str
    """GLOBAL, STACK_GLOBAL, INST …; REDUCE, NEWOBJ, OBJ, BUILD where it is also called."""
    place: int
    """Byte in the pickle."""
    entry: str
    """The part of the file that the pickle is, ``archive/data.pkl``."""
    within: tuple[str, ...] = ()
    """The entries at the top of the file that hold it; empty where it cannot be told."""


class CheckpointFile(Struct, frozen=True, kw_only=True):
    """A checkpoint, without the values of its tensors."""

    path: str
    kind: Format
    version: str | None = None
    size: int = 0
    """Bytes on disk."""
    entries: tuple[Entry, ...] = ()
    state_dicts: tuple[StateDict, ...] = ()
    optimizers: tuple[Optimizer, ...] = ()
    foreign: tuple[Foreign, ...] = ()
    trouble: tuple[str, ...] = ()
    """What is wrong with it as a file, a line each."""
    notes: tuple[str, ...] = ()
    unread: bool = False
    """Whether nothing could be learnt of it; a note says why."""
    shared: tuple[tuple[str, ...], ...] = ()
    """Groups of tensors, by their paths, that lie in one storage."""

    @property
    def name(self) -> str:
        """Its name without the folder."""
        return os.path.basename(self.path)

    @property
    def mendable(self) -> bool:
        """Whether ``gpudoctor checkpoint fix`` writes copies of it: a file with a name, of a kind that it knows."""
        kinds = (Format.TORCH_ZIP, Format.TORCH_LEGACY, Format.SAFETENSORS)
        return self.kind in kinds and self.path != STANDARD_INPUT

    def is_module(self, entry: str) -> bool:
        """Return whether an entry is a whole pickled module, and no state dict."""
        return any(known.path == entry and known.kind == "module" for known in self.entries)


def copying(path: str, stem: str) -> str:
    """Return what ``gpudoctor checkpoint fix`` is given to write a copy: ``a.ckpt -o mended.ckpt``."""
    _, dot, suffix = path.rpartition("/")[2].rpartition(".")
    kept = suffix if dot and suffix.isalnum() else "pt"
    return f"{shlex.quote(path)} -o {stem}.{kept}"
