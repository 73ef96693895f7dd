"""What the opcodes do that gather what is on the stack of a `Machine`: into tuples, lists, dicts and sets."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from gpudoctor.checkpoint.pickle.value_opcodes import LONG_BINPUT, Opcode, uint32
from gpudoctor.checkpoint.tree import Broken, Call, Global, Tensor

if TYPE_CHECKING:
    from gpudoctor.checkpoint.pickle.machine import Machine

KEY_PARTS = 16
"""Parts of a tuple that is a key: hashing one of tuples within tuples may take for ever."""
ALIKE_MOST = 50
"""Tuples of one hash that are keys: numbers can be chosen so that thousands have one, and a dict takes for ever."""
PLAIN = frozenset({str, bytes, float, bool, type(None), Call, Global, Tensor})
"""Types whose hash is quick, and cannot be chosen so that a dict becomes slow."""


def above_mark(w: "Machine") -> list[Any]:
    """Take everything above the last mark off the stack; raises `Broken`."""
    if not w.marks:
        raise Broken("no mark")
    at = w.marks.pop()
    if at > len(w.stack):
        raise Broken("a mark above the stack")
    items = w.stack[at:]
    del w.stack[at:]
    return items


# The stack


def _mark(w: "Machine", at: int) -> int:
    w.marks.append(len(w.stack))
    return at


def _pop(w: "Machine", at: int) -> int:
    if w.marks and w.marks[-1] == len(w.stack):
        w.marks.pop()
    else:
        w.stack.pop()
    return at


def _pop_mark(w: "Machine", at: int) -> int:
    above_mark(w)
    return at


def _dup(w: "Machine", at: int) -> int:
    w.stack.append(w.stack[-1])
    return at


# Tuples, lists, dicts, sets


def _made(w: "Machine", at: int, made: Any) -> int:
    """Count a container, and take the opcode along that memorises it."""
    w.made += 1
    if w.data[at] == LONG_BINPUT:
        w.memo[uint32(w.data, at + 1)[0]] = made
        return at + 5
    return at


def _tuple(w: "Machine", at: int) -> int:
    stack = w.stack
    start = w.marks.pop()
    if start > len(stack):
        raise Broken("a mark above the stack")
    made = tuple(stack[start:])
    del stack[start:]
    stack.append(made)
    w.made += 1
    if w.data[at] == LONG_BINPUT:
        w.memo[uint32(w.data, at + 1)[0]] = made
        return at + 5
    return at


def _tuple1(w: "Machine", at: int) -> int:
    w.stack[-1] = made = (w.stack[-1],)
    return _made(w, at, made)


def _tuple2(w: "Machine", at: int) -> int:
    stack = w.stack
    last = stack.pop()
    stack[-1] = made = (stack[-1], last)
    w.made += 1
    if w.data[at] == LONG_BINPUT:
        w.memo[uint32(w.data, at + 1)[0]] = made
        return at + 5
    return at


def _tuple3(w: "Machine", at: int) -> int:
    last, middle = w.stack.pop(), w.stack.pop()
    w.stack[-1] = made = (w.stack[-1], middle, last)
    return _made(w, at, made)


def _empty(kind: Callable[[], Any]) -> Opcode:
    def step(w: "Machine", at: int) -> int:
        w.stack.append(kind())
        w.made += 3 if kind is set else 1  # a set takes three times the room
        return at

    return step


def _list(w: "Machine", at: int) -> int:
    w.stack.append(above_mark(w))
    w.made += 1
    return at


def _dict(w: "Machine", at: int) -> int:
    made: dict[Any, Any] = {}
    set_pairs(w.tuples, made, above_mark(w))
    w.stack.append(made)
    w.made += 1
    return at


def _frozenset(w: "Machine", at: int) -> int:
    items = above_mark(w)
    _check_keys(w.tuples, items)
    w.stack.append(frozenset(items))
    w.made += 3
    return at


def _check_keys(tuples: dict[int, list[Any]], keys: list[Any]) -> None:
    """Refuse what may take for ever to hash or to look up: huge integers, tuples within tuples or of one hash."""
    if PLAIN.issuperset(map(type, keys)):
        return
    for key in keys:
        if type(key) in PLAIN:
            continue
        parts, count = [key], 0
        while parts:
            part = parts.pop()
            if type(part) is tuple and count + len(part) <= KEY_PARTS:
                parts += part
                count += 1 + len(part)
            elif type(part) is int and -(1 << 63) <= part < 1 << 64:
                continue
            elif type(part) not in PLAIN:
                raise Broken(
                    "a key that no checkpoint has" if type(part) in (int, tuple) else "a key that is none"
                )
        if type(key) is tuple:
            alike = tuples.setdefault(hash(key), [])
            if key not in alike:
                alike.append(key)
                if len(alike) > ALIKE_MOST:
                    raise Broken("keys that no checkpoint has: their hashes are all one")


def set_pairs(tuples: dict[int, list[Any]], target: Any, items: list[Any]) -> None:
    """Put keys and values, which take turns, into a dict or what stands for one; raises `Broken`.

    `tuples` are the keys so far that are tuples, by their hashes.
    """
    if len(items) % 2:
        raise Broken("a key without a value")
    pairs = target.pairs if type(target) is Call else target
    if type(pairs) is not dict:
        raise Broken("items are set in what is no dict")
    keys = items[::2]
    _check_keys(tuples, keys)
    pairs.update(zip(keys, items[1::2], strict=True))


def _setitem(w: "Machine", at: int) -> int:
    value, key = w.stack.pop(), w.stack.pop()
    set_pairs(w.tuples, w.stack[-1], [key, value])
    return at


def _setitems(w: "Machine", at: int) -> int:
    items = above_mark(w)
    set_pairs(w.tuples, w.stack[-1], items)
    return at


def _extend(target: Any, items: list[Any]) -> None:
    held = target.items if type(target) is Call else target
    if type(held) is not list:
        raise Broken("items are appended to what is no list")
    held += items


def _append(w: "Machine", at: int) -> int:
    item = w.stack.pop()
    _extend(w.stack[-1], [item])
    return at


def _appends(w: "Machine", at: int) -> int:
    items = above_mark(w)
    _extend(w.stack[-1], items)
    return at


def _additems(w: "Machine", at: int) -> int:
    items = above_mark(w)
    target = w.stack[-1]
    if type(target) is set:
        _check_keys(w.tuples, items)
        target.update(items)
    else:
        _extend(target if type(target) is Call else None, items)
    return at


CONTAINERS: dict[bytes, Opcode] = {
    b"(": _mark, b"0": _pop, b"1": _pop_mark, b"2": _dup, b"t": _tuple, b"\x85": _tuple1, b"\x86": _tuple2,
    b"\x87": _tuple3, b"]": _empty(list), b"}": _empty(dict), b"\x8f": _empty(set), b"l": _list, b"d": _dict,
    b"\x91": _frozenset, b"s": _setitem, b"u": _setitems, b"a": _append, b"e": _appends, b"\x90": _additems,
}  # fmt: skip
"""Steps by their opcodes."""
