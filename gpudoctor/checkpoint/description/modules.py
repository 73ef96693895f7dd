"""Recognise pickled modules, Python's and TorchScript's, and name their tensors as ``state_dict()`` would."""

from collections.abc import Iterator
from typing import Any

from gpudoctor.checkpoint.tree import Call, Global, Tensor

MODULES_DEEP = 100
"""Levels of modules inside of modules."""
SCRIPT_PACKAGE = "__torch__"
"""The package of TorchScript's compiled classes."""


def is_nn_module(node: Any) -> bool:
    """Return whether a node has the attributes that every ``nn.Module`` has."""
    state = node.state if isinstance(node, Call) else None
    return isinstance(state, dict) and "_parameters" in state and "_modules" in state


def is_script(node: Any) -> bool:
    """Return whether a node is an object of a class that TorchScript compiled."""
    return (
        isinstance(node, Call)
        and isinstance(node.function, Global)
        and SCRIPT_PACKAGE in node.function.module
    )


def module_keys(node: Call) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors of a module with the names that ``state_dict()`` would give them."""
    stack: list[tuple[str, Any]] = [("", node)]
    while stack:
        prefix, module = stack.pop()
        if prefix.count(".") > MODULES_DEEP:
            continue
        below = []
        for name, value in _own(module):
            if isinstance(value, Tensor):
                yield prefix + name, value
            elif is_nn_module(value) or is_script(value):
                below.append((f"{prefix}{name}.", value))
        stack += reversed(below)


def _own(module: Call) -> Iterator[tuple[str, Any]]:
    state = module.state if isinstance(module.state, dict) else {}
    if "_parameters" not in state:  # TorchScript: attributes of all kinds side by side
        yield from ((name, value) for name, value in state.items() if isinstance(name, str))
        return
    passing = state.get("_non_persistent_buffers_set")
    left_out = set(passing) if isinstance(passing, (set, frozenset)) else set(_items(passing))
    for kind in ("_parameters", "_buffers", "_modules"):
        held = state.get(kind)
        pairs = held.pairs if isinstance(held, Call) else held
        for name, value in pairs.items() if isinstance(pairs, dict) else ():
            if isinstance(name, str) and not (kind == "_buffers" and name in left_out):
                yield name, value


def _items(node: Any) -> list[str]:
    """Return the strings of a set that is pickled as a call with a list."""
    arguments = node.arguments if isinstance(node, Call) and isinstance(node.arguments, tuple) else ()
    lists = [argument for argument in arguments if isinstance(argument, list)]
    return [item for held in lists for item in held if isinstance(item, str)]
