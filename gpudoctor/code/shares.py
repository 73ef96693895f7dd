"""Parts of the data that are taken by the local rank out of as many as there are ranks: noted as ``<every nth>``."""

import ast
import re
from collections.abc import Iterator

from gpudoctor.code.program import Frame
from gpudoctor.facts import Argument, Known, Value

SPLITTING = frozenset(
    "array_split split chunk tensor_split random_split chunks partition view reshape hsplit vsplit".split()
)
"""What makes several parts of one, of which a rank takes its own."""
DEEPEST = 6
NO_DATA = re.compile(r"rank|group|device|gpu|peer|host|node|address|port", re.I)
"""What is in the names of lists of which a rank looks up its neighbours, or what is its own by right."""


def _parts(frame: Frame, value: Value, depth: int = 0) -> Iterator[Value]:
    """Yield a value and what it is computed of."""
    yield value
    if depth < DEEPEST:
        for item in value.items:
            yield from _parts(frame, item, depth + 1)
        calls = frame.program.calls
        if 0 <= value.made < len(calls):
            for argument in calls[value.made].arguments.values():
                yield from _parts(frame, argument.value, depth + 1)


def _of(frame: Frame, known: Known, *values: Value) -> Value | None:
    """Return the part of a kind of which some values are computed."""
    return next((part for value in values for part in _parts(frame, value) if part.known is known), None)


def note_share(frame: Frame, node: ast.Subscript, value: Value, index: Value) -> None:
    """Note an element or a part that the local rank chooses, where the number of ranks tells that each takes one."""
    if not index.by_rank or NO_DATA.search(frame.text(node.value)):
        return
    rank = _of(frame, Known.LOCAL_RANK, index)
    if rank is None or _of(frame, Known.NODE_RANK, index) is not None:
        return
    steps = [loop.over for loop in frame.loops if loop.kind != "epoch"]
    made = frame.program.calls[value.made] if 0 <= value.made < len(frame.program.calls) else None
    split = [value] if made is not None and made.method in SPLITTING else []
    size = _of(frame, Known.WORLD_SIZE, index, *split) or _of_steps(frame, index, steps)
    if size is not None:
        _record(frame, node, rank, size)


def _of_steps(frame: Frame, index: Value, steps: list[Value]) -> Value | None:
    """Return the number of ranks by which a loop counts whose variable stands in an index."""
    return _of(frame, Known.WORLD_SIZE, *steps) if _of(frame, Known.INDEX, index) is not None else None


def note_test(frame: Frame, node: ast.Compare, test: Value) -> None:
    """Note a test for what every n-th item is the local rank's: ``i % world_size == local_rank``."""
    rank = next((part for part in test.items if part.known is Known.LOCAL_RANK), None)
    rest = next((part for part in test.items if part.text == "Mod"), None)
    size = _of(frame, Known.WORLD_SIZE, *rest.items[1:]) if rest is not None else None
    if rank is not None and size is not None:
        _record(frame, node, rank, size)


def _record(frame: Frame, node: ast.expr, rank: Value, size: Value) -> None:
    place = frame.place(node)
    arguments = {"rank": Argument(rank, place, rank.text), "num_replicas": Argument(size, place, size.text)}
    frame.record("<every nth>", node, text=frame.text(node), arguments=arguments)
