"""What a checkpoint holds: nested dicts, lists and numbers as Python's own, and what pickle would call as plain data."""

from collections.abc import Iterator
from typing import Any

from msgspec import Struct

DEEPEST = 200
"""Levels of nesting that are followed; a checkpoint has ten."""


class Unreadable(Exception):
    """A file that is no checkpoint, or a broken one; the text is one line that says why."""


class Global:
    """Something that the pickle imports: a class or a function, by its name alone."""

    __slots__ = ("module", "name", "place")

    def __init__(self, module: str, name: str, place: int = 0) -> None:
        self.module, self.name, self.place = module, name, place

    @property
    def full(self) -> str:
        """Its name with its module's."""
        return f"{self.module}.{self.name}"

    def __repr__(self) -> str:
        return f"Global({self.full})"


class Call:
    """An object that the pickle makes by calling something, with what it then puts into it."""

    __slots__ = ("arguments", "function", "items", "kind", "pairs", "place", "state")

    def __init__(self, function: Any, arguments: Any, kind: str = "REDUCE", place: int = 0) -> None:
        self.function, self.arguments, self.kind, self.place = function, arguments, kind, place
        self.items: list[Any] = []
        """Appended to it, as to a list."""
        self.pairs: dict[Any, Any] = {}
        """Set in it, as in a dict."""
        self.state: Any = None
        """Handed to its ``__setstate__``, or put into its attributes."""

    @property
    def name(self) -> str:
        """What is called."""
        return (
            self.function.full if isinstance(self.function, Global) else "something that the pickle computes"
        )


class Persistent:
    """A reference to something outside of the pickle: a storage."""

    __slots__ = ("id",)

    def __init__(self, id: Any) -> None:
        self.id = id


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
    layout: str = "strided"
    """``strided``, ``sparse_coo``, ``sparse_csr`` …, ``quantized``, ``wrapped`` for a subclass."""
    parts: tuple["Tensor", ...] = ()
    """The tensors that a sparse one or a subclass is made of."""
    call: Call | None = None
    """What the pickle says of it, word for word; ``None`` in a format without pickle."""

    @property
    def elements(self) -> int:
        """How many elements it has."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def size(self) -> int:
        """Bytes of its elements, whatever else its storage holds."""
        return self.elements * WIDTHS.get(self.dtype, 0) + sum(part.size for part in self.parts)

    @property
    def device(self) -> str:
        """Where it was when it was saved."""
        return self.storage.device if self.storage else next((part.device for part in self.parts), "cpu")


WIDTHS = {
    "float64": 8, "float32": 4, "float16": 2, "bfloat16": 2, "int64": 8, "int32": 4, "int16": 2, "int8": 1, "uint8": 1,
    "uint16": 2, "uint32": 4, "uint64": 8, "bool": 1, "complex32": 4, "complex64": 8, "complex128": 16, "qint8": 1,
    "quint8": 1, "qint32": 4, "quint4x2": 1, "quint2x4": 1, "float8_e4m3fn": 1, "float8_e5m2": 1, "float8_e4m3fnuz": 1,
    "float8_e5m2fnuz": 1, "float8_e8m0fnu": 1, "float4_e2m1fn_x2": 1,
}  # fmt: skip
"""Bytes of one element, by the name of the type (torch 2.15)."""


class Suspect(Struct, frozen=True):
    """Something that opening the file would import or call, beyond what ``torch.load(weights_only=True)`` allows."""

    name: str
    """``module.name``."""
    opcode: str
    """GLOBAL, STACK_GLOBAL, INST …; REDUCE, NEWOBJ, OBJ, BUILD where it is also called."""
    place: int
    """Byte in the pickle."""
    entry: str
    """The part of the file that the pickle is, ``archive/data.pkl``."""


class Checkpoint(Struct, kw_only=True):
    """What a file, or a set of files, holds."""

    path: str
    kind: str
    """``torch zip``, ``torch legacy``, ``torchscript``, ``safetensors``, ``sharded``, ``distributed``, ``pickle``."""
    version: str | None = None
    """Of the format, as the file says."""
    size: int = 0
    """Bytes of the file, or of all files of a set."""
    root: Any = None
    """The tree: dicts, lists, numbers, strings, `Tensor`, `Call`, `Global`."""
    suspects: list[Suspect] = []
    trouble: list[str] = []
    """What is wrong with the file as a container, a line each."""
    notes: list[str] = []

    def tensors(self) -> Iterator[tuple[tuple[Any, ...], Tensor]]:
        """Yield every tensor with the path of keys and indices that leads to it; one that is shared, each time."""
        yield from _walk(self.root, (), set())


def children(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield what is directly inside a node: with its key, index or attribute."""
    if isinstance(node, dict):
        yield from node.items()
    elif isinstance(node, (list, tuple, set, frozenset)):
        yield from enumerate(node)
    elif isinstance(node, Call):
        yield from node.pairs.items()
        yield from enumerate(node.items)
        if isinstance(node.state, dict):
            yield from node.state.items()
        elif isinstance(node.state, tuple):
            for part in node.state:
                if isinstance(part, dict):
                    yield from part.items()


def _walk(root: Any, path: tuple[Any, ...], open_: set[int]) -> Iterator[tuple[tuple[Any, ...], Tensor]]:
    stack: list[tuple[Any, tuple[Any, ...]]] = [(root, path)]
    seen: set[int] = set()
    while stack:
        node, path = stack.pop()
        if isinstance(node, Tensor):
            yield path, node
            continue
        if id(node) in seen or not isinstance(node, (dict, list, tuple, set, frozenset, Call)):
            continue
        seen.add(id(node))
        if len(path) > DEEPEST:
            raise Unreadable(f"nested deeper than {DEEPEST} levels: no checkpoint")
        stack += [(child, (*path, key)) for key, child in reversed(list(children(node)))]
