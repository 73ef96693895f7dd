"""What the opcodes do that put numbers, texts and what was memorised on the stack of the machine.

A tensor takes thirty of them, so each is as short as it can be.
"""

import re
from collections.abc import Callable
from struct import Struct
from typing import Any

from gpudoctor.checkpoint.pickle.machine import LINE_MOST, LONG_BINPUT, Machine, Opcode, uint32
from gpudoctor.checkpoint.tree import Broken, Ended

BININT1 = 0x4B
TEXT_MOST = 1 << 24
"""Bytes of a text of protocol 0."""
INTEGER_MOST = 1024
"""Bytes of an integer: what Python agrees to write out in decimal."""
DIGITS_MOST = 2048
"""Digits of an integer in decimal."""
ESCAPE = re.compile(rb"\\(?:x([0-9a-fA-F]{2})|(.))", re.S)
OTHER_ESCAPES = {b"n": b"\n", b"t": b"\t", b"r": b"\r", b"\\": b"\\", b"'": b"'", b'"': b'"'}
"""What Python 2 writes a string with; any other escape stays as it is."""
uint8, uint16, uint64 = (Struct(form).unpack_from for form in ("<B", "<H", "<Q"))
int32, float64 = Struct("<i").unpack_from, Struct(">d").unpack_from


# The memo


def _binput(m: Machine, at: int) -> int:
    m.memo[m.data[at]] = m.stack[-1]
    return at + 1


def _long_binput(m: Machine, at: int) -> int:
    m.memo[uint32(m.data, at)[0]] = m.stack[-1]
    return at + 4


def _text_put(m: Machine, at: int) -> int:
    text, at = m.line(at)
    m.memo[int(text)] = m.stack[-1]
    return at


def _memoize(m: Machine, at: int) -> int:
    m.memo[len(m.memo)] = m.stack[-1]
    return at


def _binget(m: Machine, at: int) -> int:
    m.stack.append(m.memo[m.data[at]])
    return at + 1


def _long_binget(m: Machine, at: int) -> int:
    m.stack.append(m.memo[uint32(m.data, at)[0]])
    return at + 4


def _text_get(m: Machine, at: int) -> int:
    text, at = m.line(at)
    m.stack.append(m.memo[int(text)])
    return at


# Numbers, texts, bytes


def _byte(m: Machine, at: int) -> int:
    data = m.data
    m.stack.append(data[at])
    if data[at + 1] == BININT1:  # a shape or a stride: one more
        m.stack.append(data[at + 2])
        return at + 3
    return at + 1


def _number(read: Callable[[bytes, int], tuple[Any, ...]], width: int) -> Opcode:
    def step(m: Machine, at: int) -> int:
        m.stack.append(read(m.data, at)[0])
        return at + width

    return step


def _constant(value: Any) -> Opcode:
    def step(m: Machine, at: int) -> int:
        m.stack.append(value)
        return at

    return step


def _unicode(m: Machine, at: int) -> int:
    data = m.data
    end: int = at + 4 + uint32(data, at)[0]
    if end >= len(data):
        raise Ended(end + 1)
    try:
        text = data[at + 4 : end].decode()  # which is quicker than with a word on errors
    except UnicodeDecodeError:
        text = data[at + 4 : end].decode("utf-8", "surrogatepass")
    m.stack.append(text)
    if data[end] == LONG_BINPUT:
        m.memo[uint32(data, end + 1)[0]] = text
        return end + 5
    return end


def _sized(read: Callable[[bytes, int], tuple[int, ...]], width: int, make: Callable[[bytes], Any]) -> Opcode:
    def step(m: Machine, at: int) -> int:
        size: int = read(m.data, at)[0]
        m.stack.append(make(m.take(at + width, size)))
        return at + width + size

    return step


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _old_text(data: bytes) -> str:  # Python 2's str, which torch.load takes for UTF-8
    return data.decode("utf-8", "backslashreplace")


def _integer(data: bytes) -> int:
    if len(data) > INTEGER_MOST:
        raise Broken(f"an integer of {len(data)} bytes")
    return int.from_bytes(data, "little", signed=True)


def _line(make: Callable[[bytes], Any], most: int = LINE_MOST) -> Opcode:
    def step(m: Machine, at: int) -> int:
        text, at = m.line(at, most)
        m.stack.append(make(text))
        return at

    return step


def _decimal(text: bytes) -> int:
    if len(text) > DIGITS_MOST:
        raise Broken(f"an integer of {len(text)} digits")
    return text == b"01" if text in (b"00", b"01") else int(text.rstrip(b"L") or b"0")


def _quoted(text: bytes) -> str:
    if len(text) < 2 or text[:1] != text[-1:] or text[:1] not in (b"'", b'"'):
        raise Broken("a string without quotes")
    return _old_text(ESCAPE.sub(_unescaped, text[1:-1]))


def _unescaped(match: "re.Match[bytes]") -> bytes:
    digits, other = match.groups()
    return bytes.fromhex(digits.decode()) if digits else OTHER_ESCAPES.get(other, match[0])


def _raw_text(text: bytes) -> str:
    return text.decode("raw-unicode-escape")


VALUE_OPCODES: dict[bytes, Opcode] = {
    b"q": _binput, b"r": _long_binput, b"p": _text_put, b"\x94": _memoize, b"h": _binget, b"j": _long_binget,
    b"g": _text_get, b"K": _byte, b"M": _number(uint16, 2), b"J": _number(int32, 4), b"G": _number(float64, 8),
    b"\x8a": _sized(uint8, 1, _integer), b"\x8b": _sized(int32, 4, _integer), b"I": _line(_decimal),
    b"L": _line(_decimal), b"F": _line(float), b"N": _constant(None), b"\x88": _constant(True),
    b"\x89": _constant(False), b")": _constant(()), b"X": _unicode, b"\x8c": _sized(uint8, 1, _text),
    b"\x8d": _sized(uint64, 8, _text), b"V": _line(_raw_text, TEXT_MOST), b"U": _sized(uint8, 1, _old_text),
    b"T": _sized(int32, 4, _old_text), b"S": _line(_quoted, TEXT_MOST), b"C": _sized(uint8, 1, bytes),
    b"B": _sized(uint32, 4, bytes), b"\x8e": _sized(uint64, 8, bytes), b"\x96": _sized(uint64, 8, bytearray),
}  # fmt: skip
"""What each opcode does."""
