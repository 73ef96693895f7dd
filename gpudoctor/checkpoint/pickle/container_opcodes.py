"""What the opcodes do that gather what is on the stack of the machine: into tuples, lists, dicts and sets."""

from collections.abc import Callable
from typing import Any

from gpudoctor.checkpoint.pickle.machine import LONG_BINPUT, Machine, Opcode, uint32
from gpudoctor.checkpoint.tree import Broken, Call, Global, Tensor

KEY_PARTS = 16
"""Parts of a tuple that is a key: hashing one of tuples within tuples may take for ever."""
ALIKE_MOST = 50
"""Tuples of one hash that are keys: numbers can be chosen so that thousands have one, and a dict takes for ever."""
QUICK_KEYS = frozenset({str, bytes, float, bool, type(None), Call, Global, Tensor})
"""Types whose hash is quick, and cannot be chosen so that a dict becomes slow."""


# The stack


def _mark(m: Machine, at: int) -> int:
    m.marks.append(len(m.stack))
    return at


def _pop(m: Machine, at: int) -> int:
    if m.marks and m.marks[-1] == len(m.stack):
        m.marks.pop()
    else:
        m.stack.pop()
    return at


def _pop_mark(m: Machine, at: int) -> int:
    m.above_mark()
    return at


def _dup(m: Machine, at: int) -> int:
    m.stack.append(m.stack[-1])
    return at


# Tuples, lists, dicts, sets


def _made(m: Machine, at: int, made: Any) -> int:
    """Count a container, and take the opcode along that memorises it."""
    m.made += 1
    if m.data[at] == LONG_BINPUT:
        m.memo[uint32(m.data, at + 1)[0]] = made
        return at + 5
    return at


def _tuple(m: Machine, at: int) -> int:
    made = tuple(m.above_mark())
    m.stack.append(made)
    return _made(m, at, made)


def _tuple1(m: Machine, at: int) -> int:
    m.stack[-1] = made = (m.stack[-1],)
    return _made(m, at, made)


def _tuple2(m: Machine, at: int) -> int:
    last = m.stack.pop()
    m.stack[-1] = made = (m.stack[-1], last)
    return _made(m, at, made)


def _tuple3(m: Machine, at: int) -> int:
    last, middle = m.stack.pop(), m.stack.pop()
    m.stack[-1] = made = (m.stack[-1], middle, last)
    return _made(m, at, made)


def _empty(kind: Callable[[], Any]) -> Opcode:
    def step(m: Machine, at: int) -> int:
        m.stack.append(kind())
        m.made += 3 if kind is set else 1  # a set takes three times the room
        return at

    return step


def _list(m: Machine, at: int) -> int:
    m.stack.append(m.above_mark())
    m.made += 1
    return at


def _dict(m: Machine, at: int) -> int:
    made: dict[Any, Any] = {}
    set_pairs(m.tuples, made, m.above_mark())
    m.stack.append(made)
    m.made += 1
    return at


def _frozenset(m: Machine, at: int) -> int:
    items = m.above_mark()
    _check_keys(m.tuples, items)
    m.stack.append(frozenset(items))
    m.made += 3
    return at


def _check_keys(tuples: dict[int, list[Any]], keys: list[Any]) -> None:
    """Refuse what may take for ever to hash or to look up: huge integers, tuples within tuples or of one hash."""
    if QUICK_KEYS.issuperset(map(type, keys)):
        return
    for key in keys:
        if type(key) in QUICK_KEYS:
            continue
        parts, count = [key], 0
        while parts:
            part = parts.pop()
            if type(part) is tuple and count + len(part) <= KEY_PARTS:
                parts += part
                count += 1 + len(part)
            elif type(part) is int and -(1 << 63) <= part < 1 << 64:
                continue
            elif type(part) not in QUICK_KEYS:
                odd = type(part) in (int, tuple)
                raise Broken("a key that no checkpoint has" if odd else "a key that is none")
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


def _setitem(m: Machine, at: int) -> int:
    value, key = m.stack.pop(), m.stack.pop()
    set_pairs(m.tuples, m.stack[-1], [key, value])
    return at


def _setitems(m: Machine, at: int) -> int:
    items = m.above_mark()
    set_pairs(m.tuples, m.stack[-1], items)
    return at


def _extend(target: Any, items: list[Any]) -> None:
    held = target.items if type(target) is Call else target
    if type(held) is not list:
        raise Broken("items are appended to what is no list")
    held += items


def _append(m: Machine, at: int) -> int:
    item = m.stack.pop()
    _extend(m.stack[-1], [item])
    return at


def _appends(m: Machine, at: int) -> int:
    items = m.above_mark()
    _extend(m.stack[-1], items)
    return at


def _additems(m: Machine, at: int) -> int:
    items = m.above_mark()
    target = m.stack[-1]
    if type(target) is set:
        _check_keys(m.tuples, items)
        target.update(items)
    else:
        _extend(target if type(target) is Call else None, items)
    return at


CONTAINER_OPCODES: dict[bytes, Opcode] = {
    b"(": _mark, b"0": _pop, b"1": _pop_mark, b"2": _dup, b"t": _tuple, b"\x85": _tuple1, b"\x86": _tuple2,
    b"\x87": _tuple3, b"]": _empty(list), b"}": _empty(dict), b"\x8f": _empty(set), b"l": _list, b"d": _dict,
    b"\x91": _frozenset, b"s": _setitem, b"u": _setitems, b"a": _append, b"e": _appends, b"\x90": _additems,
}  # fmt: skip
"""What each opcode does."""
