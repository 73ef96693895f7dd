"""What every rank holds the same after a collective."""

import ast

from gpudoctor.code.program import Frame
from gpudoctor.facts import Known, Value

SAME_EVERYWHERE = frozenset(
    f"torch.distributed.{name}"
    for name in "all_reduce broadcast all_gather all_gather_object all_gather_into_tensor broadcast_object_list".split()
)
"""Collectives after which every rank holds the same in what it gave as the first argument."""


def agreed(frame: Frame, node: ast.expr) -> None:
    """Note that after a collective every rank holds the same in a name or attribute."""
    if isinstance(node, ast.Name):
        value = frame.names.get(node.id)
        if value is not None:
            frame.names[node.id] = same(value)
    elif isinstance(node, ast.Attribute):
        holder = frame.program.evaluate(frame, node.value)
        held = frame.program.heap.get((holder.thing, node.attr))
        if held is not None:
            frame.program.hold(holder.thing, node.attr, same(held))


def same(value: Value) -> Value:
    """Return a value as it is once every rank holds the same."""
    items = tuple(same(item) for item in value.items)
    return Value(value.known, value.literal, value.thing, value.text, items, made=value.made)


REDUCING = ("reduce", "gather", "sync", "average", "all_mean", "broadcast", "across")
"""Words in the names of functions after which every rank may hold the same."""


def reduced(frame: Frame, node: ast.Call, outcome: Value, name: str) -> Value:
    """Return what a function with a collective returns: where it hands a value back unreduced there is one rank.

    One that is named for it reduces by each of its ways, be it by a library that is not seen: MPI beside torch.
    """
    for given in node.args:
        if isinstance(given, ast.Name) and (held := frame.names.get(given.id)) and held.known is Known.TENSOR:
            frame.names[given.id] = same(held)
    named = any(word in name.lower() for word in REDUCING)
    mixed_up = named or (
        outcome.known is Known.CHOICE and any(not item.from_data for item in outcome.possible())
    )
    return same(outcome) if mixed_up and outcome.from_data and not outcome.by_rank else outcome
