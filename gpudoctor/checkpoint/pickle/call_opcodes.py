"""What the opcodes do that import, call, or ask for something outside of the pickle: it is noted, never done."""

from collections.abc import Callable
from struct import Struct
from typing import TYPE_CHECKING

from gpudoctor.checkpoint.pickle.container_opcodes import CONTAINERS, above_mark
from gpudoctor.checkpoint.pickle.value_opcodes import LONG_BINPUT, VALUES, Opcode, line, uint32
from gpudoctor.checkpoint.tree import Broken, Call, Ended, Global, Tensor

if TYPE_CHECKING:
    from gpudoctor.checkpoint.pickle.machine import Machine

PROTOCOL_MOST = 5
_uint8, _uint16, _int32, _uint64 = (Struct(form).unpack_from for form in ("<B", "<H", "<i", "<Q"))


class Stop(Exception):
    """The end of a pickle."""


def _stop(w: "Machine", at: int) -> int:
    w.at = at
    raise Stop


def _global(w: "Machine", at: int) -> int:
    module, end = line(w, at)
    name, end = line(w, end)
    w.stack.append(w.named_global(module.decode(), name.decode(), "GLOBAL", at - 1))
    return end


def _stack_global(w: "Machine", at: int) -> int:
    name, module = w.stack.pop(), w.stack.pop()
    if type(name) is not str or type(module) is not str:
        raise Broken("an import without a name")
    w.stack.append(w.named_global(module, name, "STACK_GLOBAL", at - 1))
    return at


def _extension(read: Callable[[bytes, int], tuple[int, ...]], width: int) -> Opcode:
    def step(w: "Machine", at: int) -> int:  # a class that the reader's own program has given a number
        code = str(read(w.data, at)[0])
        w.stack.append(w.named_global("copyreg._extension_registry", code, "EXT", at - 1))
        return at + width

    return step


def _reduce(w: "Machine", at: int) -> int:
    stack = w.stack
    arguments = stack.pop()
    stack[-1] = made = w.call(stack[-1], arguments, "REDUCE", at - 1)
    if w.data[at] == LONG_BINPUT:
        w.memo[uint32(w.data, at + 1)[0]] = made
        return at + 5
    return at


def _newobj(w: "Machine", at: int) -> int:
    arguments = w.stack.pop()
    w.stack[-1] = w.call(w.stack[-1], arguments, "NEWOBJ", at - 1)
    return at


def _newobj_ex(w: "Machine", at: int) -> int:
    keywords, arguments = w.stack.pop(), w.stack.pop()
    w.stack[-1] = w.call(w.stack[-1], (arguments, keywords), "NEWOBJ_EX", at - 1)
    return at


def _inst(w: "Machine", at: int) -> int:
    module, end = line(w, at)
    name, end = line(w, end)
    arguments = tuple(above_mark(w))
    function = w.named_global(module.decode(), name.decode(), "INST", at - 1)
    w.stack.append(w.call(function, arguments, "INST", at - 1))
    return end


def _obj(w: "Machine", at: int) -> int:
    function, *arguments = above_mark(w)
    w.stack.append(w.call(function, tuple(arguments), "OBJ", at - 1))
    return at


def _build(w: "Machine", at: int) -> int:
    state = w.stack.pop()
    target = w.stack[-1]
    call = target.call if type(target) is Tensor else target
    if type(call) is Call:
        call.state = state
    elif type(call) is Global:  # the attributes of a class are set, for everyone who uses it
        w.computed.append((call.full, "BUILD", at - 1))
    else:
        raise Broken("a state for what has none")
    return at


def _persid(w: "Machine", at: int) -> int:
    id, end = line(w, at)
    w.stack.append(w.persistent(id.decode()))
    return end


def _binpersid(w: "Machine", at: int) -> int:
    w.stack[-1] = w.persistent(w.stack[-1])
    return at


def _proto(w: "Machine", at: int) -> int:
    w.protocol = w.data[at]
    if w.protocol > PROTOCOL_MOST:
        raise Broken(f"pickle protocol {w.protocol}")
    return at + 1


def _frame(w: "Machine", at: int) -> int:
    end = at + 8 + _uint64(w.data, at)[0]
    if end > len(w.data):
        raise Ended(end)
    return at + 8


def _next_buffer(w: "Machine", at: int) -> int:
    raise Broken("a buffer outside of the pickle")


def _readonly_buffer(w: "Machine", at: int) -> int:
    return at


def _unknown(w: "Machine", at: int) -> int:
    raise Broken(f"unknown opcode 0x{w.data[at - 1]:02x}")


def _table() -> list[Opcode]:
    calls: dict[bytes, Opcode] = {
        b".": _stop, b"c": _global, b"\x93": _stack_global, b"R": _reduce, b"\x81": _newobj, b"\x92": _newobj_ex,
        b"i": _inst, b"o": _obj, b"b": _build, b"P": _persid, b"Q": _binpersid, b"\x82": _extension(_uint8, 1),
        b"\x83": _extension(_uint16, 2), b"\x84": _extension(_int32, 4), b"\x80": _proto, b"\x95": _frame,
        b"\x97": _next_buffer, b"\x98": _readonly_buffer,
    }  # fmt: skip
    table: list[Opcode] = [_unknown] * 256
    for code, step in (VALUES | CONTAINERS | calls).items():
        table[code[0]] = step
    return table


TABLE: list[Opcode] = _table()
"""The step of every opcode, by its byte."""
