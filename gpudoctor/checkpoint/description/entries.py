"""List the entries of a checkpoint: what each is, how many tensors it holds, and of how many bytes."""

from collections.abc import Iterable, Iterator
from typing import Any

from gpudoctor.checkpoint.description.search import Found, below, joined, key_of
from gpudoctor.checkpoint.description.state_dicts import inside, mapping
from gpudoctor.checkpoint.tree import Call, Global, Tensor, tensors_in
from gpudoctor.facts.checkpoint_file import Entry
from gpudoctor.text import count

SHOWN_MOST = 80
"""Characters of a text that are kept."""
PATH_MOST = 200
"""Characters of a path that are kept."""


def entries(root: Any, found: Found) -> Iterator[Entry]:
    """Yield what is at the top and, below what is only a dict or a list, one level more."""
    whole = _entry("", root, found)
    if whole.kind not in ("dict", "list"):
        yield whole
        return
    for key, value in below(root):
        entry = _entry(str(key), value, found)
        yield entry
        if entry.kind in ("dict", "list", "object"):
            for inner, node in below(value):
                yield _entry(joined(str(key), inner), node, found)


def _entry(path: str, node: Any, found: Found) -> Entry:
    kind, text = _kind(node, found)
    state = found.state_dicts.get(id(node))
    if state is None:
        sizes = [key_of("", tensor).size for _, tensor in tensors_in(node)]
    else:
        held = (mapping(node) if state.others else None) or {}
        packed = _once(tensor for name in state.others for tensor in inside(held.get(name)))
        sizes = [*(key.size for key in state.keys), *(tensor.size for tensor in packed)]
    return Entry(path=path[:PATH_MOST], kind=kind, tensors=len(sizes), size=sum(sizes), text=text)


def _kind(node: Any, found: Found) -> tuple[str, str]:
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


def _once(tensors: Iterable[Tensor]) -> Iterator[Tensor]:
    """Yield those tensors that are no other view of what came before: packed weights name their biases twice."""
    seen = set()
    for tensor in tensors:
        place = (tensor.storage, tensor.offset, tensor.shape)
        if tensor.storage is None or place not in seen:
            seen.add(place)
            yield tensor
