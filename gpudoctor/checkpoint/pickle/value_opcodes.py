"""What the opcodes do that put numbers, texts and what was memorised on the stack of a `Machine`.

A step is given the walker and the place of the byte behind the opcode, and returns the place of the next opcode. A
tensor takes thirty of them, so each is as short as it can be.
"""

import re
from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING, Any, TypeAlias

from gpudoctor.checkpoint.tree import Broken, Ended

if TYPE_CHECKING:
    from gpudoctor.checkpoint.pickle.machine import Machine

Opcode: TypeAlias = "Callable[[Machine, int], int]"
LONG_BINPUT = 0x72
"""Follows most of what is put on the stack; so the commonest steps take it along, which saves a quarter of the time."""
BININT1 = 0x4B
LINE_MOST = 4096
"""Bytes of a line: a name or a number of protocol 0."""
TEXT_MOST = 1 << 24
"""Bytes of a text of protocol 0."""
INTEGER_MOST = 1024
"""Bytes of an integer: what Python agrees to write out in decimal."""
DIGITS_MOST = 2048
"""Digits of an integer in decimal."""
ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|(.))", re.S)
OTHER_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"\\": b"\\", b"'": b"'", b'"': b'"'}
"""What Python 2 writes a string with; any other escape stays as it is."""
_uint16, uint32, _uint64 = Struct("<H").unpack_from, Struct("<I").unpack_from, Struct("<Q").unpack_from
_int32, _float64 = Struct("<i").unpack_from, Struct(">d").unpack_from


def _take(w: "Machine", at: int, size: int) -> bytes:
    if size < 0 or at + size > len(w.data):
        raise Ended(at + size)
    return w.data[at : at + size]


def line(w: "Machine", at: int, most: int = LINE_MOST) -> tuple[bytes, int]:
    """Return what stands before the next newline, and the place behind it; raises `Broken`."""
    end = w.data.find(b"\n", at, at + most)
    if end < 0:
        raise Ended(len(w.data) + 1) if at + most > len(w.data) else Broken("a line without an end")
    return w.data[at:end], end + 1


# The memo


def _binput(w: "Machine", at: int) -> int:
    w.memo[w.data[at]] = w.stack[-1]
    return at + 1


def _long_binput(w: "Machine", at: int) -> int:
    w.memo[uint32(w.data, at)[0]] = w.stack[-1]
    return at + 4


def _text_put(w: "Machine", at: int) -> int:
    text, at = line(w, at)
    w.memo[int(text)] = w.stack[-1]
    return at


def _memoize(w: "Machine", at: int) -> int:
    w.memo[len(w.memo)] = w.stack[-1]
    return at


def _binget(w: "Machine", at: int) -> int:
    w.stack.append(w.memo[w.data[at]])
    return at + 1


def _long_binget(w: "Machine", at: int) -> int:
    w.stack.append(w.memo[uint32(w.data, at)[0]])
    return at + 4


def _text_get(w: "Machine", at: int) -> int:
    text, at = line(w, at)
    w.stack.append(w.memo[int(text)])
    return at


# Numbers, texts, bytes


def _byte(w: "Machine", at: int) -> int:
    data = w.data
    w.stack.append(data[at])
    if data[at + 1] == BININT1:  # a shape or a stride: one more
        w.stack.append(data[at + 2])
        return at + 3
    return at + 1


def _number(read: Callable[[bytes, int], tuple[Any, ...]], width: int) -> Opcode:
    def step(w: "Machine", at: int) -> int:
        w.stack.append(read(w.data, at)[0])
        return at + width

    return step


def _constant(value: Any) -> Opcode:
    def step(w: "Machine", at: int) -> int:
        w.stack.append(value)
        return at

    return step


def _unicode(w: "Machine", at: int) -> int:
    data = w.data
    end: int = at + 4 + uint32(data, at)[0]
    if end >= len(data):
        raise Ended(end + 1)
    try:
        text = data[at + 4 : end].decode()  # which is quicker than with a word on errors
    except UnicodeDecodeError:
        text = data[at + 4 : end].decode("utf-8", "surrogatepass")
    w.stack.append(text)
    if data[end] == LONG_BINPUT:
        w.memo[uint32(data, end + 1)[0]] = text
        return end + 5
    return end


def _sized(read: Callable[[bytes, int], tuple[int, ...]], width: int, make: Callable[[bytes], Any]) -> Opcode:
    def step(w: "Machine", at: int) -> int:
        size: int = read(w.data, at)[0]
        w.stack.append(make(_take(w, at + width, size)))
        return at + width + size

    return step


def _size_byte(data: bytes, at: int) -> tuple[int]:
    return (data[at],)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _old_text(data: bytes) -> str:  # Python 2's str, which torch.load takes for UTF-8
    return data.decode("utf-8", "backslashreplace")


def _integer(data: bytes) -> int:
    if len(data) > INTEGER_MOST:
        raise Broken(f"an integer of {len(data)} bytes")
    return int.from_bytes(data, "little", signed=True)


def _text_integer(w: "Machine", at: int) -> int:
    text, at = line(w, at)
    if len(text) > DIGITS_MOST:
        raise Broken(f"an integer of {len(text)} digits")
    w.stack.append(text == b"01" if text in (b"00", b"01") else int(text.rstrip(b"L") or b"0"))
    return at


def _text_float(w: "Machine", at: int) -> int:
    text, at = line(w, at)
    w.stack.append(float(text))
    return at


def _text_string(w: "Machine", at: int) -> int:
    text, at = line(w, at, TEXT_MOST)
    if len(text) < 2 or text[:1] != text[-1:] or text[:1] not in (b"'", b'"'):
        raise Broken("a string without quotes")
    w.stack.append(_old_text(ESCAPE.sub(_unescaped, text[1:-1])))
    return at


def _unescaped(match: "re.Match[bytes]") -> bytes:
    digits, other = match.groups()
    return bytes.fromhex(digits.decode()) if digits else OTHER_ESCAPES.get(other, match[0])


def _text_unicode(w: "Machine", at: int) -> int:
    text, at = line(w, at, TEXT_MOST)
    w.stack.append(text.decode("raw-unicode-escape"))
    return at


VALUES: dict[bytes, Opcode] = {
    b"q": _binput, b"r": _long_binput, b"p": _text_put, b"\x94": _memoize, b"h": _binget, b"j": _long_binget,
    b"g": _text_get, b"K": _byte, b"M": _number(_uint16, 2), b"J": _number(_int32, 4), b"G": _number(_float64, 8),
    b"\x8a": _sized(_size_byte, 1, _integer), b"\x8b": _sized(_int32, 4, _integer), b"I": _text_integer,
    b"L": _text_integer, b"F": _text_float, b"N": _constant(None), b"\x88": _constant(True), b"\x89": _constant(False),
    b")": _constant(()), b"X": _unicode, b"\x8c": _sized(_size_byte, 1, _text), b"\x8d": _sized(_uint64, 8, _text),
    b"V": _text_unicode, b"U": _sized(_size_byte, 1, _old_text), b"T": _sized(_int32, 4, _old_text), b"S": _text_string,
    b"C": _sized(_size_byte, 1, bytes), b"B": _sized(uint32, 4, bytes), b"\x8e": _sized(_uint64, 8, bytes),
    b"\x96": _sized(_uint64, 8, bytearray),
}  # fmt: skip
"""Steps by their opcodes."""
