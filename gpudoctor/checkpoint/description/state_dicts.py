"""Recognise dicts, state dicts and optimizers in a checkpoint, and read what a state dict says of itself."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

from gpudoctor.checkpoint.tree import WIDTHS, Call, Global, Tensor

MAPPINGS = ("collections.OrderedDict", "collections.defaultdict", "collections.Counter")
METADATA_KEY = "_metadata"
EXTRA_STATE = ("_extra_state", METADATA_KEY)
"""Entries of a state dict that are no tensors (torch/nn/modules/module.py)."""
PACKED_KEYS = ("_packed_params", "_all_weight_values")
"""What a quantised layer keeps its weights under, as one value (torch/ao/nn/quantized)."""
SCRIPTED = "torch.ScriptObject"
VERSIONS_MOST = 100_000
PACKED_DEEP = 12
"""Levels of a packed value that are followed; a recurrent layer's has six."""


def mapping(node: Any) -> dict[Any, Any] | None:
    """Return what a dict holds, be it pickled as a dict or as an OrderedDict; ``None`` for what is no dict.

    It is the tree's own dict, whose change changes the node. A Counter has a dict as its argument; what Python 2 hands
    to an OrderedDict, `Rebuilder` has put in its place.
    """
    if isinstance(node, dict):
        return node
    if isinstance(node, Call) and node.name in MAPPINGS:
        given = node.arguments[0] if isinstance(node.arguments, tuple) and node.arguments else None
        return given if isinstance(given, dict) and not node.pairs else node.pairs
    return None


def is_state_dict(items: dict[Any, Any]) -> bool:
    """Return whether a dict is one of names and tensors; ``_extra_state`` may be anything, quantised weights packed."""
    if not items or not all(isinstance(key, str) for key in items):
        return False
    others = [key for key, value in items.items() if not isinstance(value, Tensor)]
    if not others or all(key.endswith(EXTRA_STATE) for key in others):
        return len(others) < len(items)
    if not any(mark in key for key in others for mark in PACKED_KEYS):
        return False
    return all(key.endswith(EXTRA_STATE) or _packed(items[key]) for key in others)


def _packed(value: Any) -> bool:
    """Return whether a value is one that a quantised layer has in its state dict."""
    if isinstance(value, Global):
        return value.module == "torch" and value.name in WIDTHS
    if isinstance(value, Call):
        return value.name == SCRIPTED
    if isinstance(value, tuple):
        return all(part is None or isinstance(part, (Tensor, int, float)) for part in value)
    return value is None or isinstance(value, (int, float))


def is_optimizer(items: dict[Any, Any]) -> bool:
    """Return whether a dict is what ``optimizer.state_dict()`` returns."""
    groups = items.get("param_groups")
    return isinstance(groups, list) and "state" in items and all(mapping(g) is not None for g in groups)


def others(items: dict[Any, Any]) -> tuple[str, ...]:
    """Return the names of a state dict's entries that are no tensors."""
    names = (name for name, value in items.items() if not isinstance(value, Tensor))
    return tuple(name for name in names if name.rpartition(".")[2] != METADATA_KEY)


def inside(value: Any, depth: int = 0) -> Iterator[Tensor]:
    """Yield the tensors of a state dict's entry, those of a compiled object's state too."""
    if isinstance(value, Tensor):
        yield value
    elif depth > PACKED_DEEP:
        return
    elif isinstance(value, Call):
        yield from inside(value.state if value.name == SCRIPTED else mapping(value), depth + 1)
    elif isinstance(value, (tuple, list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from inside(part, depth + 1)


def metadata(node: Any) -> dict[Any, Any] | None:
    """Return what ``state_dict()`` puts into an attribute: by the name of each module, a dict with its version."""
    state = node.state if isinstance(node, Call) else None
    return mapping(state.get(METADATA_KEY)) if isinstance(state, dict) else None


def versions(node: Any) -> dict[str, int]:
    """Return the versions of the modules of a state dict, by their names."""
    said = ((n, mapping(value) or {}) for n, value in islice((metadata(node) or {}).items(), VERSIONS_MOST))
    return {
        name: version
        for name, value in said
        if isinstance(name, str) and type(version := value.get("version")) is int and abs(version) < 1 << 63
    }
