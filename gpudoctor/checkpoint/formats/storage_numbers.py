"""Keep the storages of several files apart: each file counts its own from 0."""

from typing import Any

from msgspec.structs import replace

from gpudoctor.checkpoint.tree import DEEPEST, Call, Tensor


def apart(root: Any, name: str) -> Any:
    """Return a tree whose storages' keys begin with `name` and a slash; dicts, lists and calls are changed in place."""
    return _apart(root, name, {}, 0)


def _apart(node: Any, name: str, done: dict[int, Any], depth: int) -> Any:
    if isinstance(node, Tensor):
        storage = node.storage and replace(node.storage, key=f"{name}/{node.storage.key}")
        return replace(
            node, storage=storage, parts=tuple(_apart(p, name, done, depth + 1) for p in node.parts)
        )
    if not isinstance(node, (dict, list, tuple, Call)) or depth > DEEPEST:
        return node
    if id(node) in done:
        return done[id(node)]
    done[id(node)] = node  # before its children, which may hold it
    if isinstance(node, tuple):
        done[id(node)] = made = tuple(_apart(child, name, done, depth + 1) for child in node)
        return made
    if isinstance(node, list):
        node[:] = [_apart(child, name, done, depth + 1) for child in node]
    elif isinstance(node, dict):
        for key, child in node.items():
            node[key] = _apart(child, name, done, depth + 1)
    else:
        for held in (node.items, node.pairs):
            _apart(held, name, done, depth + 1)
        node.state = _apart(node.state, name, done, depth + 1)
    return node
