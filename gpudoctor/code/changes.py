"""What a call changes in names, variables and containers."""

import ast

from gpudoctor.code import dictionaries
from gpudoctor.code.agreement import SAME_EVERYWHERE, agreed
from gpudoctor.code.dictionaries import appended, removed, set_by_name, updated
from gpudoctor.code.program import Frame
from gpudoctor.facts import SHUFFLED, UNKNOWN, Argument, Known, Value

SHUFFLES = ("random.shuffle", "numpy.random.shuffle")
"""Functions that put a list into another order, in place."""


def changes(
    frame: Frame,
    node: ast.Call,
    name: str,
    attribute: str,
    receiver: Value,
    arguments: dict[str, Argument],
    number: int,
) -> bool:
    """Note what a call changes in names, variables and containers; return whether it set attributes by name."""
    if name == "os.environ.update":
        _variables_set(frame, node, arguments)
    if name in SAME_EVERYWHERE and node.args:
        agreed(frame, node.args[0])
    if name in SHUFFLES and node.args and isinstance(node.args[0], ast.Name):
        before = arguments["0"].value if "0" in arguments else UNKNOWN
        mixed = Value(text=SHUFFLED, made=number, items=(before,), by_rank=before.by_rank)
        frame.bind(node.args[0].id, mixed)
    by_name = name == "setattr" or attribute == "update"
    taken = by_name and set_by_name(frame, node, name, arguments)
    if isinstance(node.func, ast.Attribute):
        if attribute == "update" and all(item.known is Known.MAPPING for item in receiver.possible()):
            updated(frame, node.func.value, receiver, arguments)
        if attribute == "pop" and (first := arguments.get("0")) and first.value.is_literal:
            removed(frame, node.func.value, receiver, first.value.literal)
        if attribute in ("append", "extend") and receiver.known is Known.SEQUENCE:
            appended(frame, node.func.value, receiver, arguments)
    return taken


def _variables_set(frame: Frame, node: ast.Call, arguments: dict[str, Argument]) -> None:
    """Record what ``os.environ.update`` sets, as if each variable were assigned."""
    first = arguments.get("0")
    given = {key: argument for key, argument in arguments.items() if key != "0"}
    if first is not None and dictionaries.known(first.value):
        pairs = zip(first.value.literal, first.value.items, strict=True)
        given.update({str(key): Argument(value, first.place, "") for key, value in pairs})
    for key, argument in given.items():
        name = Argument(Value(Known.LITERAL, key), argument.place, repr(key))
        frame.record(
            "os.environ.__setitem__", node, text="os.environ", arguments={"key": name, "value": argument}
        )
