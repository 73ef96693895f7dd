"""Tell tensors of which a file holds one rank's part: FSDP's DTensors and ShardedTensors."""

from collections.abc import Iterable, Iterator
from math import prod
from typing import Any

from gpudoctor.checkpoint.tree import WRAPPED, Call, Global, Tensor

DTENSOR, SHARDED = ".DTensor", ".ShardedTensor"
"""Ends of the names of the classes, which were in several modules of ``torch.distributed``."""
SHARDING = (".Shard", "._StridedShard")
"""Placements that split a tensor; the others repeat it."""


def rank_part(tensors: Iterable[Tensor]) -> str:
    """Say that a file has one rank's part of tensors, ``one rank's part of 4 tensors …``; empty where all are whole."""
    ranks = [number for tensor in tensors if tensor.layout == WRAPPED and (number := split_over(tensor))]
    if not ranks:
        return ""
    counts = " or ".join(map(str, sorted(set(ranks))[:4]))
    split = "1 tensor that is" if len(ranks) == 1 else f"{len(ranks)} tensors that are"
    return f"one rank's part of {split} split over {counts} ranks"


def local(tensor: Tensor) -> tuple[Tensor, ...]:
    """Return what this rank holds of a tensor that many ranks may hold; of any other nothing."""
    kind, state = _wrapped(tensor)
    if kind.endswith(DTENSOR):
        return tuple(t for held in state if isinstance(t := _attribute(held, "_local_tensor"), Tensor))
    if kind.endswith(SHARDED) and state and isinstance(state[0], list):
        return tuple(t for shard in state[0] if isinstance(t := _attribute(shard, "tensor"), Tensor))
    return ()


def split_over(tensor: Tensor) -> int:
    """Return over how many ranks a tensor is split; 0 for one that is whole in this file."""
    kind, state = _wrapped(tensor)
    here = local(tensor)
    held = sum(part.elements for part in here)
    if not state or held == tensor.elements or not kind.endswith((DTENSOR, SHARDED)):
        return 0
    if kind.endswith(SHARDED):
        parts = _attribute(state[1], "shards_metadata") if len(state) > 1 else None
        return max(len(parts), 2) if isinstance(parts, list) else 2
    named = next((ranks for item in state if (ranks := _in_mesh(_attribute(item, "_spec")))), 0)
    return named or max(2, -(-tensor.elements // max(1, held)))


def _wrapped(tensor: Tensor) -> tuple[str, tuple[Any, ...]]:
    """Return the class of a tensor that is made of others, and what it is made of."""
    call = tensor.call
    while tensor.parameter and call is not None and call.arguments and isinstance(call.arguments[0], Tensor):
        tensor, call = call.arguments[0], call.arguments[0].call
    arguments = call.arguments if call is not None and isinstance(call.arguments, tuple) else ()
    if tensor.layout != WRAPPED or len(arguments) < 4 or not isinstance(arguments[1], Global):
        return "", ()
    kind, state = arguments[1], arguments[3]
    if not kind.module.startswith("torch.distributed."):
        return "", ()
    return kind.full, state if isinstance(state, tuple) else (state,)


def _attribute(node: Any, name: str) -> Any:
    """Return an attribute of an object that the pickle makes: one in its dict or in its slots."""
    return next((held[name] for held in _dicts(node) if name in held), None)


def _dicts(node: Any) -> Iterator[dict[Any, Any]]:
    states = node.state if isinstance(node, Call) else node
    for state in states if isinstance(states, tuple) else (states,):
        if isinstance(state, dict):
            yield state


def _in_mesh(spec: Any) -> int:
    """Return the ranks along those dimensions of a mesh that split a tensor; 0 where the file does not tell."""
    placements, mesh = _attribute(spec, "placements"), _attribute(spec, "mesh")
    ranks = _attribute(mesh, "mesh")  # until 2.9 a tensor, then the layout of one
    axes = _attribute(_attribute(mesh, "_layout"), "axes")
    lengths: list[Any] = list(ranks.shape) if isinstance(ranks, Tensor) else []
    if isinstance(axes, tuple):
        shapes = [_attribute(axis, "shape") for axis in axes]
        lengths = [prod(s) if isinstance(s, tuple) and all(type(n) is int for n in s) else 0 for s in shapes]
    if not isinstance(placements, tuple) or len(lengths) != len(placements):
        return 0
    number = prod(
        length
        for length, placement in zip(lengths, placements, strict=True)
        if isinstance(placement, Call) and placement.name.endswith(SHARDING)
    )
    return number if number > 1 else 0
