"""Write the tree of a checkpoint as a pickle again: what torch loads from it is what it loaded from the original.

The opcodes are those of protocol 2, which every torch reads with ``weights_only=True``, in the order in which CPython's
own pickler writes them; later ones stand only where the original had them. Nothing is called and nothing is imported.
"""

import struct
from collections.abc import Callable, Iterable
from typing import Any

from msgspec import Struct

from gpudoctor.checkpoint.pickle.torch_tensors import StorageRef
from gpudoctor.checkpoint.tree import Call, Global, Persistent, Storage, Tensor, Unreadable

BATCH = 1000
"""Items that one opcode sets or appends (Lib/pickle.py)."""
SETITEM, SETITEMS, APPEND, APPENDS = b"s", b"u", b"a", b"e"


def emit(root: Any, protocol: int = 2) -> bytes:
    """Return a tree as a pickle that says it is of `protocol`; raises `Unreadable` for what has no pickle."""
    return Emitter(protocol=protocol).pickle(root)


class _Raw(bytes):
    """Opcodes that are due when what stands before them is written."""


class _Close(Struct, eq=False):
    """The end of something that exists only when its parts do: a tuple, a frozen set, a call."""

    node: Any
    code: bytes
    parts: bytes
    rest: list[Any]


class Emitter:
    """One pickle in the making.

    `device` replaces the places that storages are restored to, `renumber` gives them new keys in the order in which
    they are asked for (as ``torch.save`` numbers them), and `archive` writes the ids as a zip file has them.
    """

    def __init__(
        self, protocol: int = 2, *, device: str | None = None, renumber: bool = False, archive: bool = False
    ) -> None:
        self.out = bytearray(b"\x80" + bytes([max(protocol, 2)]))
        self.device, self.renumber, self.archive = device, renumber, archive
        self.storages: dict[str, str] = {}
        """Keys of the storages that are asked for, in that order, with their new keys."""
        self.moved: set[str] = set()
        """Keys of the storages whose device was replaced."""
        self.memo: dict[int, int] = {}
        self.kept: list[Any] = []
        """What is made here: the memo goes by identity, which must not be given twice."""
        self.ids: dict[int, tuple[Any, ...]] = {}
        self.todo: list[Any] = []

    def pickle(self, root: Any) -> bytes:
        """Return the tree as a pickle; raises `Unreadable` for what has no pickle."""
        todo, memo, table = self.todo, self.memo, WRITERS
        todo.append(root)
        while todo:
            node = todo.pop()
            kind = type(node)
            if kind is _Raw:
                self.out += node
            elif kind is _Close:
                self.close(node)
            elif (number := memo.get(id(node))) is not None:
                self.get(number)
            elif (step := table.get(kind)) is not None:
                step(self, node)
            elif isinstance(node, (Persistent, StorageRef)):
                self.persistent(node)
            else:
                raise Unreadable(f"{kind.__name__} has no place in a pickle")
        return bytes(self.out + b".")

    def put(self, node: Any) -> None:
        """Remember what was just made."""
        number = self.memo[id(node)] = len(self.memo)
        self.out += b"q%c" % number if number < 256 else b"r" + struct.pack("<I", number)

    def get(self, number: int) -> None:
        """Refer to what was made before."""
        self.out += b"h%c" % number if number < 256 else b"j" + struct.pack("<I", number)

    def later(self, steps: list[Any]) -> None:
        """Put what is to be written next on the stack."""
        self.todo += reversed(steps)

    def close(self, end: _Close) -> None:
        """Make something of its parts, unless one of the parts held the thing itself and has made it."""
        number = self.memo.get(id(end.node))
        if number is not None:
            self.out += end.parts
            self.get(number)
            return
        self.out += end.code
        self.put(end.node)
        self.later(end.rest)

    def call(self, call: Call, node: Any) -> None:
        """Write a call; `node` is what stands for its result."""
        function, arguments = call.function, call.arguments
        rest = [*items(call.items, exact=False), *pairs(call.pairs, exact=False)]
        if call.state is not None:
            rest += [call.state, _Raw(b"b")]
        if call.kind == "NEWOBJ_EX":
            self.later([function, *arguments, _Close(node, b"\x92", b"000", rest)])
        elif call.kind == "OBJ":
            self.later([_Raw(b"("), function, *arguments, _Close(node, b"o", b"1", rest)])
        elif call.kind == "INST":
            code = b"i%s\n%s\n" % (function.module.encode(), function.name.encode())
            self.later([_Raw(b"("), *arguments, _Close(node, code, b"1", rest)])
        else:
            code = b"\x81" if call.kind == "NEWOBJ" else b"R"
            self.later([function, arguments, _Close(node, code, b"00", rest)])

    def persistent(self, node: Persistent | StorageRef) -> None:
        """Ask for a storage by the id that asked for it before, but for what was to be changed."""
        id_ = node.id
        if isinstance(node, StorageRef):
            storage = node.storage
            new = str(len(self.storages)) if self.renumber else storage.key
            new = self.storages.setdefault(storage.key, new)
            id_ = self.ids.get(id(node)) or self.changed(id_, storage, new)
            self.ids[id(node)] = id_
        self.later([id_, _Raw(b"Q")])

    def changed(self, id_: tuple[Any, ...], storage: Storage, key: str) -> tuple[Any, ...]:
        """Return the id of a storage with its new key and device."""
        if self.archive and any(part is not None for part in id_[5:]):
            raise Unreadable(
                f"storage {storage.key} is a view of another one, as torch wrote before 0.4: "
                "load and save it with a newer torch"
            )
        if self.archive:
            id_ = id_[:5]
        if self.renumber:
            id_ = (*id_[:2], key, *id_[3:])
        if self.device is not None and id_[3] != self.device:
            self.moved.add(storage.key)
            id_ = (*id_[:3], self.device, *id_[4:])
        self.kept.append(id_)
        return id_


def items(values: Iterable[Any], *, exact: bool) -> list[Any]:
    """Return the steps that append values; CPython writes a lone last one in another way for a list and a subclass."""
    return _batches([[value] for value in values], APPEND, APPENDS, exact)


def pairs(mapping: dict[Any, Any], *, exact: bool) -> list[Any]:
    """Return the steps that set keys."""
    return _batches(list(mapping.items()), SETITEM, SETITEMS, exact)


def _batches(groups: list[Any], one: bytes, many: bytes, exact: bool) -> list[Any]:
    steps: list[Any] = []
    for start in range(0, len(groups), BATCH):
        batch = groups[start : start + BATCH]
        if len(batch) == 1 and not (exact and start):
            steps += [*batch[0], _Raw(one)]
        else:
            steps.append(_Raw(b"("))
            for group in batch:
                steps += group
            steps.append(_Raw(many))
    return steps


def _none(e: Emitter, node: None) -> None:
    e.out += b"N"


def _bool(e: Emitter, node: bool) -> None:
    e.out += b"\x88" if node else b"\x89"


def _int(e: Emitter, node: int) -> None:
    if 0 <= node < 1 << 8:
        e.out += b"K%c" % node
    elif 0 <= node < 1 << 16:
        e.out += b"M" + struct.pack("<H", node)
    elif -(1 << 31) <= node < 1 << 31:
        e.out += b"J" + struct.pack("<i", node)
    else:
        size = (node.bit_length() >> 3) + 1
        if node < 0 and size > 1 and node >= -(1 << (8 * size - 9)):
            size -= 1  # pickle.encode_long: a sign byte that says nothing is left out
        data = node.to_bytes(size, "little", signed=True)
        e.out += (b"\x8a%c" % size if size < 256 else b"\x8b" + struct.pack("<i", size)) + data


def _float(e: Emitter, node: float) -> None:
    e.out += b"G" + struct.pack(">d", node)


def _str(e: Emitter, node: str) -> None:
    data = node.encode("utf-8", "surrogatepass")
    e.out += b"X" + struct.pack("<I", len(data)) + data
    e.put(node)


def _bytes(e: Emitter, node: bytes) -> None:
    size = len(node)
    e.out += (b"C%c" % size if size < 256 else b"B" + struct.pack("<I", size)) + node
    e.put(node)


def _bytearray(e: Emitter, node: bytearray) -> None:
    e.out += b"\x96" + struct.pack("<Q", len(node)) + node
    e.put(node)


def _tuple(e: Emitter, node: tuple[Any, ...]) -> None:
    if not node:
        e.out += b")"
    elif len(node) <= 3:
        e.later([*node, _Close(node, b"\x84\x85\x86\x87"[len(node) : len(node) + 1], b"0" * len(node), [])])
    else:
        e.later([_Raw(b"("), *node, _Close(node, b"t", b"1", [])])


def _frozenset(e: Emitter, node: frozenset[Any]) -> None:
    e.later([_Raw(b"("), *node, _Close(node, b"\x91", b"1", [])])


def _list(e: Emitter, node: list[Any]) -> None:
    e.out += b"]"
    e.put(node)
    e.later(items(node, exact=True))


def _dict(e: Emitter, node: dict[Any, Any]) -> None:
    e.out += b"}"
    e.put(node)
    e.later(pairs(node, exact=True))


def _set(e: Emitter, node: set[Any]) -> None:
    e.out += b"\x8f"
    e.put(node)
    if node:
        e.later([_Raw(b"("), *node, _Raw(b"\x90")])


def _global(e: Emitter, node: Global) -> None:
    module, name = node.module.encode("utf-8", "surrogatepass"), node.name.encode("utf-8", "surrogatepass")
    if module == b"copyreg._extension_registry" and name.isdigit():
        e.out += b"\x84" + struct.pack("<i", int(name))
    elif b"\n" in module + name or not _encodable(node.full):
        for text in (module, name):
            e.out += b"X" + struct.pack("<I", len(text)) + text
        e.out += b"\x93"
    else:
        e.out += b"c%s\n%s\n" % (module, name)
    e.put(node)


def _encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which one opcode takes and another does not
        return False
    return True


def _tensor(e: Emitter, node: Tensor) -> None:
    if node.call is None:
        raise Unreadable("a tensor of a format without pickle")
    e.call(node.call, node)


WRITERS: dict[type, Callable[[Emitter, Any], None]] = {
    type(None): _none, bool: _bool, int: _int, float: _float, str: _str, bytes: _bytes,
    bytearray: _bytearray, tuple: _tuple, frozenset: _frozenset, list: _list, dict: _dict, set: _set,
    Global: _global, Tensor: _tensor, Call: lambda e, node: e.call(node, node),
}  # fmt: skip
