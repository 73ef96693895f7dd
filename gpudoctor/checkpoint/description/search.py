"""Find the state dicts, the optimizers and the pickled modules in the tree of a checkpoint."""

from collections.abc import Iterator
from typing import Any

from gpudoctor.checkpoint.description.dtensors import local, rank_part
from gpudoctor.checkpoint.description.modules import is_nn_module, is_script, module_keys
from gpudoctor.checkpoint.description.state_dicts import (
    is_optimizer,
    is_state_dict,
    mapping,
    others,
    versions,
)
from gpudoctor.checkpoint.description.wrappers import prefixes
from gpudoctor.checkpoint.tree import WRAPPED, Call, Checkpoint, Tensor, children
from gpudoctor.facts.checkpoint_file import Key, Optimizer, StateDict

STATE_DICTS_DEEP = 6
"""Levels below which no state dict is looked for."""
LIGHTNING = "pytorch-lightning_version"


class Found:
    """The state dicts, optimizers and modules of a tree, by the identity of the nodes that they are."""

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
        if (
            depth > STATE_DICTS_DEEP
            or id(node) in self.seen
            or not isinstance(node, (dict, list, tuple, Call))
        ):
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
            for key, value in below(node):
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


def below(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield what is directly inside a node; of a dict, whatever it is pickled as, its items."""
    items = mapping(node)
    return iter(items.items()) if items is not None else children(node)


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
