"""Attributes where they are read: of wrappers they are recorded, and properties are followed."""

import ast

from gpudoctor.code.definitions import LIBRARIES, Function
from gpudoctor.code.environment_variables import told
from gpudoctor.code.names import member
from gpudoctor.code.program import Frame
from gpudoctor.code.results import SHAPES
from gpudoctor.facts import Known, Value


def attribute(frame: Frame, node: ast.Attribute) -> Value:
    """Return what an attribute is where it is read; a property is followed."""
    value = frame.program.evaluate(frame, node.value)
    found = member(frame, value, node.attr)
    if found.known is Known.SYMBOL and value.known is Known.SYMBOL:
        if of_others(value.text):
            found = told(node.attr) or found
        elif value.text in CALLED:
            found = told(CALLED[value.text].get(node.attr, "")) or found
    if found.known is Known.DEFINED and value.thing >= 0:
        function = frame.program.defined.get(found.text)
        if isinstance(function, Function) and _is_property(function):
            return frame.program.follow(frame, function, value, [], {}, node)
        frame.program.bound[found.text] = value.thing
    if value.known is Known.THING and found.known is Known.UNKNOWN and found.text == node.attr:
        thing = frame.program.things[value.thing]
        if thing.kind in ("ddp", "dp", "prepared") or (
            thing.kind in ("model", "checkpoint") and node.attr == "module"
        ):
            frame.record(f"{thing.type}.{node.attr}.__get__", node, text=frame.text(node), receiver=value)
    elif node.attr == "module" and isinstance(node.value, ast.Name) and frame.program.kind(value) == "ddp":
        frame.record("<inside>.module.__get__", node, text=frame.text(node), receiver=value)
        if value.known is Known.CHOICE:
            _asked(frame, node, value)
    elif node.attr == "module" and isinstance(node.value, ast.Call) and frame.program.kind(value) == "ddp":
        # no name holds the wrapper itself
        made = frame.program.things[value.thing].type
        frame.record(f"{made}.module.__get__", node, text=frame.text(node.value.func), receiver=value)
    elif value.known is Known.CHOICE:
        _asked(frame, node, value)
    elif value.text.startswith("checkpoint[") and value.made >= 0:
        frame.record("<entry>.attribute.__get__", node, text=frame.text(node), receiver=value)
    elif found.known is Known.TENSOR and found.made >= 0 and frame.scope.endswith(".__getitem__"):
        frame.record("<kept>.tensor.__get__", node, text=frame.text(node), receiver=found)
    if value.known is Known.TENSOR:
        return Value(
            text=node.attr, by_rank=value.by_rank, from_data=value.from_data and node.attr not in SHAPES
        )
    return found


CALLED = {"idr_torch": {"rank": "rank", "local_rank": "local_rank", "size": "world_size"}}
"""Modules of clusters whose attributes are a rank's own numbers (IDRIS, PyTorch: Multi-GPU data parallelism)."""


def of_others(name: str) -> bool:
    """Return whether a full name is that of something that a file of the user's own makes, which was not given."""
    top, dot, rest = name.partition(".")
    return bool(dot and rest) and top not in LIBRARIES and top not in SPEAKING


SPEAKING = frozenset(
    ("horovod", "mpi4py", "jax", "paddle", "oneflow", "mmengine", "mmcv", "apex", "fairscale")
)
"""Libraries whose names that tell of ranks are functions."""


def _asked(frame: Frame, node: ast.Attribute, value: Value) -> None:
    """Record that an attribute is read of what may be a wrapper, and is not the wrapper's own, or of a bare model."""
    wrappers = [n for n in value.things if frame.program.things[n].kind in ("ddp", "dp")]
    if node.attr == "module" and 0 < len(wrappers) < sum(1 for _ in value.possible()):
        frame.record("<bare>.module.__get__", node, text=frame.text(node), receiver=value)
        return
    for number in value.things:
        thing = frame.program.things[number]
        if (
            thing.kind in ("ddp", "dp")
            and member(frame, Value(Known.THING, thing=number), node.attr).text == node.attr
        ):
            frame.record(f"{thing.type}.{node.attr}.__get__", node, text=frame.text(node), receiver=value)
            return


def _is_property(function: Function) -> bool:
    """Return whether a method is called where it is read."""
    names = (ast.unparse(decorator).rpartition(".")[2] for decorator in function.node.decorator_list)
    return any(name in ("property", "cached_property") for name in names)
