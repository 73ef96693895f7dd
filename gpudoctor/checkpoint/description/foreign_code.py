"""Name what opening a checkpoint would import or call, and the entries that hold it."""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from gpudoctor.checkpoint.description.state_dicts import mapping
from gpudoctor.checkpoint.tree import CONTAINERS, Call, Checkpoint, Global, Tensor
from gpudoctor.facts.checkpoint_file import Foreign

NODES_MOST = 500_000
"""Nodes that are looked at."""


def foreign(checkpoint: Checkpoint) -> tuple[Foreign, ...]:
    """Return what opening the file would import or call, with the opcode that does it."""
    within = (
        entries_with(checkpoint.root, {s.name for s in checkpoint.suspects}) if checkpoint.suspects else {}
    )
    return tuple(replace(each, within=within.get(each.name, ())) for each in checkpoint.suspects)


def entries_with(root: Any, names: set[str]) -> dict[str, tuple[str, ...]]:
    """Return the entries at the top that hold each of the names; one that lies outside of entries is left out."""
    items = mapping(root)
    if items is None or not all(isinstance(key, str) for key in items):
        return {}
    room = NODES_MOST
    found: dict[str, list[str]] = {}
    for entry, value in items.items():
        held = set()
        for node in _nodes(value):
            room -= 1
            if isinstance(node, Global) and node.full in names:
                held.add(node.full)
        if room < 0:
            return {}
        for name in held:
            found.setdefault(name, []).append(entry)
    outside = {node.full for node in _around(root) if isinstance(node, Global)}
    return {name: tuple(entries) for name, entries in found.items() if name not in outside}


def _around(root: Any) -> Iterator[Any]:
    """Yield what belongs to a dict and is none of its entries: what makes it, and its attributes."""
    if isinstance(root, Call):
        for node in (root.function, root.arguments, root.items, root.state):
            yield from _nodes(node)


def _nodes(root: Any) -> Iterator[Any]:
    """Yield a node and everything below it, each once; of tensors the calls that make them."""
    stack, seen = [root], set()
    while stack:
        node = stack.pop()
        if isinstance(node, Tensor):
            node = node.call
        elif not isinstance(node, (*CONTAINERS, Global)):
            continue
        if node is None or id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node, dict):
            stack += [*node.keys(), *node.values()]
        elif isinstance(node, Call):
            stack += [node.function, node.arguments, node.items, node.pairs, node.state]
        elif isinstance(node, (list, tuple, set, frozenset)):
            stack += node
