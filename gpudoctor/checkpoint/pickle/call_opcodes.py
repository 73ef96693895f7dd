"""What the opcodes do that import, call, or ask for something outside of the pickle: it is noted, never done."""

from gpudoctor.checkpoint.pickle.machine import LONG_BINPUT, Machine, Opcode, uint32
from gpudoctor.checkpoint.tree import Broken, Call, Ended, Global, Tensor

PROTOCOL_MOST = 5


class Stop(Exception):
    """The end of a pickle."""


def _stop(m: Machine, at: int) -> int:
    m.at = at
    raise Stop


def _global(m: Machine, at: int) -> int:
    module, end = m.line(at)
    name, end = m.line(end)
    m.stack.append(m.named_global(module.decode(), name.decode(), "GLOBAL", at - 1))
    return end


def _stack_global(m: Machine, at: int) -> int:
    name, module = m.stack.pop(), m.stack.pop()
    if type(name) is not str or type(module) is not str:
        raise Broken("an import without a name")
    m.stack.append(m.named_global(module, name, "STACK_GLOBAL", at - 1))
    return at


def _extension(width: int) -> Opcode:
    def step(m: Machine, at: int) -> int:  # a class that the reader's own program has given a number
        code = str(int.from_bytes(m.take(at, width), "little", signed=width == 4))
        m.stack.append(m.named_global("copyreg._extension_registry", code, "EXT", at - 1))
        return at + width

    return step


def _call(opcode: str) -> Opcode:
    def step(m: Machine, at: int) -> int:
        stack = m.stack
        arguments = stack.pop()
        stack[-1] = made = m.call(stack[-1], arguments, opcode, at - 1)
        if m.data[at] == LONG_BINPUT:
            m.memo[uint32(m.data, at + 1)[0]] = made
            return at + 5
        return at

    return step


def _newobj_ex(m: Machine, at: int) -> int:
    keywords, arguments = m.stack.pop(), m.stack.pop()
    m.stack[-1] = m.call(m.stack[-1], (arguments, keywords), "NEWOBJ_EX", at - 1)
    return at


def _inst(m: Machine, at: int) -> int:
    module, end = m.line(at)
    name, end = m.line(end)
    arguments = tuple(m.above_mark())
    function = m.named_global(module.decode(), name.decode(), "INST", at - 1)
    m.stack.append(m.call(function, arguments, "INST", at - 1))
    return end


def _obj(m: Machine, at: int) -> int:
    function, *arguments = m.above_mark()
    m.stack.append(m.call(function, tuple(arguments), "OBJ", at - 1))
    return at


def _build(m: Machine, at: int) -> int:
    state = m.stack.pop()
    target = m.stack[-1]
    call = target.call if type(target) is Tensor else target
    if type(call) is Call:
        call.state = state
    elif type(call) is Global:  # the attributes of a class are set, for everyone who uses it
        m.computed.append((call.full, "BUILD", at - 1))
    else:
        raise Broken("a state for what has none")
    return at


def _persid(m: Machine, at: int) -> int:
    id, end = m.line(at)
    m.stack.append(m.persistent(id.decode()))
    return end


def _binpersid(m: Machine, at: int) -> int:
    m.stack[-1] = m.persistent(m.stack[-1])
    return at


def _proto(m: Machine, at: int) -> int:
    m.protocol = m.data[at]
    if m.protocol > PROTOCOL_MOST:
        raise Broken(f"pickle protocol {m.protocol}")
    return at + 1


def _frame(m: Machine, at: int) -> int:
    end = at + 8 + int.from_bytes(m.take(at, 8), "little")
    if end > len(m.data):
        raise Ended(end)
    return at + 8


def _next_buffer(m: Machine, at: int) -> int:
    raise Broken("a buffer outside of the pickle")


def unknown(m: Machine, at: int) -> int:
    """Refuse a byte that is no opcode; raises `Broken`."""
    raise Broken(f"unknown opcode 0x{m.data[at - 1]:02x}")


CALL_OPCODES: dict[bytes, Opcode] = {
    b".": _stop, b"c": _global, b"\x93": _stack_global, b"R": _call("REDUCE"), b"\x81": _call("NEWOBJ"),
    b"\x92": _newobj_ex, b"i": _inst, b"o": _obj, b"b": _build, b"P": _persid, b"Q": _binpersid, b"\x82": _extension(1),
    b"\x83": _extension(2), b"\x84": _extension(4), b"\x80": _proto, b"\x95": _frame,
    b"\x97": _next_buffer, b"\x98": lambda m, at: at,
}  # fmt: skip
"""What each opcode does."""
