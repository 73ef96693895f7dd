"""What a checkpoint holds: dicts, lists and numbers as Python's own, and what pickle would call as plain data."""

import math
from collections.abc import Callable, Iterator
from typing import Any

from msgspec import Struct

from gpudoctor.bad_input import BadInput
from gpudoctor.facts.checkpoint_file import Foreign, Format

DEEPEST = 200
"""Levels of nesting that are followed; a checkpoint has ten."""
TENSORS_MOST = 200_000
"""Times that tensors are named beyond `SHARED_TIMES` for each: what is shared counts each time."""
SHARED_TIMES = 20
DIMS_MOST = 64
"""More than any tensor has; torch's own iterators take 64."""
SIZE_MOST = 1 << 63
"""Elements or bytes: more than torch can count."""
BLOCK = 1 << 20
"""Bytes of a file that are read at a time; a multiple of every element's width."""

STRIDED, QUANTIZED = "strided", "quantized"
WRAPPED = "wrapped"
"""Layout of tensors that are made of others."""
COMPUTED = "something that the pickle computes"
"""What is called that was not imported by name."""

Heard = Callable[[int, int], None]
"""What is told how many bytes are done, and of how many, while something takes long."""


def unheard(done: int, size: int) -> None:
    """Tell nobody."""


class Unreadable(BadInput):
    """A file that is no checkpoint, or a broken one; the text is one line that says why."""


class Broken(Unreadable):
    """A pickle that breaks its own rules."""


class Ended(Broken):
    """A pickle that ends too soon: it needs the file to have `needed` bytes at least."""

    def __init__(self, needed: int, text: str = "it ends too soon") -> None:
        super().__init__(text)
        self.needed = needed


class Global:
    """Something that the pickle imports: a class or a function, by its name alone."""

    __slots__ = ("called", "full", "module", "name", "opcode", "place")

    def __init__(self, module: str, name: str, place: int = 0, opcode: str = "GLOBAL") -> None:
        self.module, self.name, self.place, self.opcode = module, name, place, opcode
        self.full = f"{module}.{name}"
        """Its name with its module's."""
        self.called: tuple[str, int] | None = None
        """The opcode of its first call, and the place of that."""

    def __repr__(self) -> str:
        return f"Global({self.full!r})"


class Call(Struct, eq=False):
    """An object that the pickle makes by calling something, with what it then puts into it."""

    function: Any
    arguments: Any
    kind: str = "REDUCE"
    place: int = 0
    """Byte in the pickle."""
    items: list[Any] = []
    """Appended to it, as to a list."""
    pairs: dict[Any, Any] = {}
    """Set in it, as in a dict."""
    state: Any = None
    """Handed to its ``__setstate__``, or put into its attributes."""

    @property
    def name(self) -> str:
        """What is called."""
        return self.function.full if isinstance(self.function, Global) else COMPUTED

    def __repr__(self) -> str:
        return f"Call({self.name!r})"


class Persistent(Struct, eq=False):
    """A reference to something outside of the pickle: a storage."""

    id: Any


class Storage(Struct, frozen=True):
    """The bytes behind tensors; several tensors may share one."""

    key: str
    dtype: str
    """The element type that it was saved with, as torch names it: ``float32``; ``uint8`` for an untyped one."""
    elements: int
    device: str
    """Where it was when it was saved: ``cpu``, ``cuda:0``."""
    size: int
    """Bytes."""


class Tensor(Struct, frozen=True, kw_only=True):
    """A tensor as the file describes it; its values are not read."""

    dtype: str
    shape: tuple[int, ...]
    stride: tuple[int, ...] = ()
    """In elements."""
    offset: int = 0
    """In elements of its storage."""
    storage: Storage | None = None
    requires_grad: bool = False
    parameter: bool = False
    layout: str = STRIDED
    """``strided``, ``sparse_coo``, ``sparse_csr`` …, ``quantized``, ``wrapped`` for a subclass."""
    parts: tuple["Tensor", ...] = ()
    """The tensors that a sparse one or a subclass is made of."""
    call: Call | None = None
    """What the pickle says of it, word for word; ``None`` in a format without pickle."""

    @property
    def elements(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    @property
    def size(self) -> int:
        """Bytes of its elements, whatever else its storage holds; of a sparse one, those of its parts."""
        parts = sum(part.size for part in self.parts)
        return parts if self.storage is None else self.elements * WIDTHS.get(self.dtype, 0) + parts

    @property
    def device(self) -> str:
        """Where it was when it was saved."""
        return self.storage.device if self.storage else next((part.device for part in self.parts), "cpu")


WIDTHS = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1,
    "uint16": 2, "uint32": 4, "uint64": 8, "bool": 1, "complex32": 4, "complex64": 8, "complex128": 16, "qint8": 1,
    "quint8": 1, "qint32": 4, "quint4x2": 1, "quint2x4": 1, "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1,
    "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1, "float4_e2m1fn_x2": 1, "bcomplex32": 4, "bits8": 1, "bits16": 2,
    "bits1x8": 1, "bits2x4": 1, "bits4x2": 1, **{f"{sign}int{bits}": 1 for sign in ("", "u") for bits in range(1, 8)},
}  # fmt: skip
"""Bytes of one element, by the name of the type (torch 2.15)."""


class Checkpoint(Struct, kw_only=True):
    """What a file, or a set of files, holds."""

    path: str
    kind: Format
    version: str | None = None
    """Of the format, as the file says."""
    size: int = 0
    """Bytes of the file, or of all files of a set."""
    root: Any = None
    """The tree: dicts, lists, numbers, strings, `Tensor`, `Call`, `Global`."""
    suspects: list[Foreign] = []
    trouble: list[str] = []
    """What is wrong with the file as a container, a line each."""
    notes: list[str] = []

    def tensors(self) -> Iterator[tuple[tuple[Any, ...], Tensor]]:
        """Yield every tensor with the path of keys and indices that leads to it; one that is shared, each time.

        Raises `Unreadable` where the tree is nested deeper than `DEEPEST` levels.
        """
        return tensors_in(self.root)


CONTAINERS = (dict, list, tuple, set, frozenset, Call)
"""What there may be tensors in."""


def children(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield what is directly inside a node: with its key, index or attribute."""
    if isinstance(node, dict):
        yield from node.items()
    elif isinstance(node, (list, tuple, set, frozenset)):
        yield from enumerate(node)
    elif isinstance(node, Call):
        yield from _in_call(node)


def _in_call(call: Call) -> Iterator[tuple[Any, Any]]:
    yield from call.pairs.items()
    yield from enumerate(call.items)
    states = call.state if isinstance(call.state, tuple) else (call.state,)
    for number, state in enumerate(states):
        if isinstance(state, dict):
            yield from state.items()
        elif isinstance(state, (Tensor, list, tuple, Call)):  # of a compiled object
            yield number, state
    if isinstance(call.arguments, tuple):  # a named tuple is made of its fields
        for index, argument in enumerate(call.arguments):
            if isinstance(argument, (Tensor, dict, list, Call)) or (
                isinstance(argument, tuple)
                and any(isinstance(part, (Tensor, *CONTAINERS)) for part in argument)
            ):
                yield index, argument


class _Outline:
    """How many tensors are below each container, found without following anything twice.

    What contains itself is followed once: the edges that lead back are noted, and the rest is a graph without circles.
    """

    def __init__(self, root: Any) -> None:
        """Count; raises `Unreadable` where it is too deep, or more than a file can hold."""
        self.counts: dict[int, int] = {}
        self.heights: dict[int, int] = {}
        self.back: set[tuple[int, int]] = set()
        self.tensors: set[int] = set()
        if isinstance(root, CONTAINERS):
            self._count(root)
            most = TENSORS_MOST + SHARED_TIMES * len(self.tensors)
            if self.counts[id(root)] > most:
                raise Unreadable(f"the same tensors are named more than {most} times: no checkpoint")

    def _count(self, root: Any) -> None:
        counts, heights = self.counts, self.heights
        open_ = {id(root)}
        stack = [[root, children(root), 0, 0]]  # container, what is left of it, tensors and levels so far
        while stack:
            level = stack[-1]
            for _, value in level[1]:
                if type(value) is Tensor:
                    level[2] += 1
                    self.tensors.add(id(value))
                elif isinstance(value, CONTAINERS):
                    known = counts.get(id(value))
                    if known is not None:
                        level[2] += known
                        level[3] = max(level[3], heights[id(value)] + 1)
                    elif id(value) in open_:
                        self.back.add((id(level[0]), id(value)))
                    else:
                        open_.add(id(value))
                        stack.append([value, children(value), 0, 0])
                        break
            else:
                self._close(stack, open_)
            if len(stack) > DEEPEST or (stack and stack[-1][3] + len(stack) > DEEPEST):
                raise Unreadable(f"nested deeper than {DEEPEST} levels: no checkpoint")

    def _close(self, stack: list[list[Any]], open_: set[int]) -> None:
        node, _, count, height = stack.pop()
        open_.discard(id(node))
        self.counts[id(node)], self.heights[id(node)] = count, height
        if stack:
            stack[-1][2] += count
            stack[-1][3] = max(stack[-1][3], height + 1)


def tensors_in(root: Any) -> Iterator[tuple[tuple[Any, ...], Tensor]]:
    """Yield every tensor of a tree, as `Checkpoint.tensors` does."""
    if isinstance(root, Tensor):
        yield (), root
        return
    outline = _Outline(root)
    if not outline.counts.get(id(root)):
        return
    stack: list[tuple[tuple[Any, ...], int, Iterator[tuple[Any, Any]]]] = [((), id(root), children(root))]
    while stack:
        path, parent, below = stack[-1]
        for key, value in below:
            if type(value) is Tensor:
                yield (*path, key), value
            elif outline.counts.get(id(value)) and (parent, id(value)) not in outline.back:
                stack.append(((*path, key), id(value), children(value)))
                break
        else:
            stack.pop()
