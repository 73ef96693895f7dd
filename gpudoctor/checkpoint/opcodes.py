"""Walk the opcodes of a pickle into plain data; nothing is imported and nothing is called.

The machine is that of Lib/pickle.py (protocols 0 to 5), with `Global`, `Call` and `Persistent` in the place of what it
would import, call or ask for.
"""

import struct
from collections.abc import Callable
from typing import Any

from gpudoctor.checkpoint.tree import Call, Global, Persistent, Suspect, Unreadable

MEMO_MOST = 50_000_000
"""Largest memo number: a checkpoint of a million tensors uses thirty times as many."""


class Broken(Unreadable):
    """A pickle that breaks its own rules."""


class Walker:
    """One pickle's stack and memo. `make` may turn a finished `Call` into something better: a tensor."""

    def __init__(
        self,
        data: bytes,
        start: int = 0,
        *,
        make: Callable[[Call], Any] = lambda call: call,
        persistent: Callable[[Any], Any] = Persistent,
    ) -> None:
        self.data, self.at = data, start
        self.make, self.persistent = make, persistent
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.globals: dict[tuple[str, str], Global] = {}
        self.named: list[tuple[Global, str, int]] = []  # with the opcode and the place of each
        self.called: list[tuple[Call, str, int]] = []
        self.protocol = 0

    def walk(self) -> Any:
        """Return what the pickle holds; raises `Broken` where it holds nothing that pickle could read."""
        data, table = self.data, TABLE
        place = self.at
        try:
            while True:
                place = self.at
                self.at = place + 1
                step = table[data[place]]
                if step is None:
                    if data[place] == 0x2E:  # STOP
                        return self.stack.pop()
                    raise Broken(f"unknown opcode 0x{data[place]:02x}")
                step(self)
        except Broken as error:
            raise Broken(f"damaged pickle at byte {place}: {error}") from None
        except (IndexError, struct.error, KeyError, TypeError, ValueError, AttributeError) as error:
            what = "it ends too soon" if self.at >= len(data) else f"{type(error).__name__}: {error}"
            raise Broken(f"damaged pickle at byte {place}: {what}") from None

    # Reading

    def take(self, size: int) -> bytes:
        """Return the next bytes."""
        at = self.at
        self.at = at + size
        if size < 0 or self.at > len(self.data):
            raise Broken("it ends too soon")
        return self.data[at : self.at]

    def line(self) -> bytes:
        """Return the bytes up to the next newline."""
        end = self.data.find(b"\n", self.at, self.at + 100_000)
        if end < 0:
            raise Broken("a line without an end")
        line = self.data[self.at : end]
        self.at = end + 1
        return line

    def number(self, form: str, size: int) -> Any:
        """Return the next number."""
        at = self.at
        self.at = at + size
        return struct.unpack_from(form, self.data, at)[0]

    def above_mark(self) -> list[Any]:
        """Take everything above the last mark off the stack."""
        if not self.marks:
            raise Broken("no mark")
        at = self.marks.pop()
        items = self.stack[at:]
        del self.stack[at:]
        return items

    # Importing and calling

    def named_global(self, module: str, name: str, opcode: str, place: int) -> Global:
        """Note an import."""
        found = self.globals.get((module, name))
        if found is None:
            found = self.globals[module, name] = Global(module, name, place)
            self.named.append((found, opcode, place))
        return found

    def call(self, function: Any, arguments: Any, opcode: str) -> Any:
        """Note a call, and give what stands for its result."""
        call = Call(function, arguments, opcode, self.at - 1)
        if not isinstance(function, Global):
            self.called.append((call, opcode, self.at - 1))
        return self.make(call)


def _put(walker: Walker, number: int) -> None:
    if number > MEMO_MOST:
        raise Broken(f"memo number {number}")
    walker.memo[number] = walker.stack[-1]


def _binput(w: Walker) -> None:
    at = w.at
    w.at = at + 1
    w.memo[w.data[at]] = w.stack[-1]


def _long_binput(w: Walker) -> None:
    _put(w, w.number("<I", 4))


def _text_put(w: Walker) -> None:
    _put(w, int(w.line()))


def _memoize(w: Walker) -> None:
    w.memo[len(w.memo)] = w.stack[-1]


def _get(w: Walker, number: int) -> None:
    if number not in w.memo:
        raise Broken(f"a reference to memo {number}, which is nothing")
    w.stack.append(w.memo[number])


def _binget(w: Walker) -> None:
    at = w.at
    w.at = at + 1
    _get(w, w.data[at])


def _long_binget(w: Walker) -> None:
    _get(w, w.number("<I", 4))


def _text_get(w: Walker) -> None:
    _get(w, int(w.line()))


def _text(size_form: str, size: int) -> Callable[[Walker], None]:
    def read(w: Walker) -> None:
        w.stack.append(w.take(w.number(size_form, size)).decode("utf-8", "surrogatepass"))

    return read


def _bytes(size_form: str, size: int, kind: Callable[[bytes], Any] = bytes) -> Callable[[Walker], None]:
    def read(w: Walker) -> None:
        w.stack.append(kind(w.take(w.number(size_form, size))))

    return read


def _old_string(size_form: str, size: int) -> Callable[[Walker], None]:
    def read(w: Walker) -> None:  # Python 2's str, which torch.load reads as UTF-8
        w.stack.append(w.take(w.number(size_form, size)).decode("utf-8", "backslashreplace"))

    return read


def _number(form: str, size: int) -> Callable[[Walker], None]:
    def read(w: Walker) -> None:
        w.stack.append(w.number(form, size))

    return read


def _constant(value: Any) -> Callable[[Walker], None]:
    def push(w: Walker) -> None:
        w.stack.append(value)

    return push


def _long(size_form: str, size: int) -> Callable[[Walker], None]:
    def read(w: Walker) -> None:
        w.stack.append(int.from_bytes(w.take(w.number(size_form, size)), "little", signed=True))

    return read


def _text_int(w: Walker) -> None:
    line = w.line()
    w.stack.append({b"00": False, b"01": True}[line] if line in (b"00", b"01") else int(line))


def _text_long(w: Walker) -> None:
    w.stack.append(int(w.line().rstrip(b"L") or b"0"))


def _text_float(w: Walker) -> None:
    w.stack.append(float(w.line()))


def _text_string(w: Walker) -> None:
    w.stack.append(w.line().strip(b"'\"").decode("utf-8", "backslashreplace"))


def _text_unicode(w: Walker) -> None:
    w.stack.append(w.line().decode("raw-unicode-escape"))


def _mark(w: Walker) -> None:
    w.marks.append(len(w.stack))


def _pop(w: Walker) -> None:
    if w.marks and w.marks[-1] == len(w.stack):
        w.marks.pop()
    else:
        w.stack.pop()


def _pop_mark(w: Walker) -> None:
    w.above_mark()


def _dup(w: Walker) -> None:
    w.stack.append(w.stack[-1])


def _tuple(w: Walker) -> None:
    w.stack.append(tuple(w.above_mark()))


def _tuple_of(count: int) -> Callable[[Walker], None]:
    def make(w: Walker) -> None:
        if len(w.stack) < count:
            raise Broken("not enough for a tuple")
        items = tuple(w.stack[-count:])
        w.stack[-count:] = [items]

    return make


def _empty(kind: Callable[[], Any]) -> Callable[[Walker], None]:
    def make(w: Walker) -> None:
        w.stack.append(kind())

    return make


def _list(w: Walker) -> None:
    w.stack.append(w.above_mark())


def _dict(w: Walker) -> None:
    items = w.above_mark()
    made: dict[Any, Any] = {}
    _set_pairs(made, items)
    w.stack.append(made)


def _frozenset(w: Walker) -> None:
    w.stack.append(frozenset(w.above_mark()))


def _set_pairs(target: Any, items: list[Any]) -> None:
    if len(items) % 2:
        raise Broken("a key without a value")
    pairs = target.pairs if isinstance(target, Call) else target
    if not isinstance(pairs, dict):
        raise Broken("items are set in what is no dict")
    pairs.update(zip(items[::2], items[1::2], strict=True))


def _setitem(w: Walker) -> None:
    value, key = w.stack.pop(), w.stack.pop()
    _set_pairs(w.stack[-1], [key, value])


def _setitems(w: Walker) -> None:
    items = w.above_mark()
    _set_pairs(w.stack[-1], items)


def _append_to(target: Any, items: list[Any]) -> None:
    held = target.items if isinstance(target, Call) else target
    if not isinstance(held, list):
        raise Broken("items are appended to what is no list")
    held.extend(items)


def _append(w: Walker) -> None:
    item = w.stack.pop()
    _append_to(w.stack[-1], [item])


def _appends(w: Walker) -> None:
    items = w.above_mark()
    _append_to(w.stack[-1], items)


def _additems(w: Walker) -> None:
    items = w.above_mark()
    target = w.stack[-1]
    if isinstance(target, Call):
        target.items.extend(items)
    elif isinstance(target, set):
        target.update(items)
    else:
        raise Broken("items are added to what is no set")


def _global(w: Walker) -> None:
    place = w.at - 1
    module, name = w.line().decode(), w.line().decode()
    w.stack.append(w.named_global(module, name, "GLOBAL", place))


def _stack_global(w: Walker) -> None:
    name, module = w.stack.pop(), w.stack.pop()
    if not isinstance(name, str) or not isinstance(module, str):
        raise Broken("an import without a name")
    w.stack.append(w.named_global(module, name, "STACK_GLOBAL", w.at - 1))


def _reduce(w: Walker) -> None:
    arguments, function = w.stack.pop(), w.stack.pop()
    w.stack.append(w.call(function, arguments, "REDUCE"))


def _newobj(w: Walker) -> None:
    arguments, cls = w.stack.pop(), w.stack.pop()
    w.stack.append(w.call(cls, arguments, "NEWOBJ"))


def _newobj_ex(w: Walker) -> None:
    keywords, arguments, cls = w.stack.pop(), w.stack.pop(), w.stack.pop()
    w.stack.append(w.call(cls, (arguments, keywords), "NEWOBJ_EX"))


def _inst(w: Walker) -> None:
    place = w.at - 1
    module, name = w.line().decode(), w.line().decode()
    arguments = tuple(w.above_mark())
    w.stack.append(w.call(w.named_global(module, name, "INST", place), arguments, "INST"))


def _obj(w: Walker) -> None:
    function, *arguments = w.above_mark()
    w.stack.append(w.call(function, tuple(arguments), "OBJ"))


def _build(w: Walker) -> None:
    state = w.stack.pop()
    target = w.stack[-1]
    if isinstance(target, Call):
        target.state = state


def _persid(w: Walker) -> None:
    w.stack.append(w.persistent(w.line().decode()))


def _binpersid(w: Walker) -> None:
    w.stack.append(w.persistent(w.stack.pop()))


def _extension(size_form: str, size: int) -> Callable[[Walker], None]:
    def read(w: Walker) -> None:
        code = w.number(size_form, size)
        w.stack.append(w.named_global("copyreg._extension_registry", str(code), "EXT", w.at - size - 1))

    return read


def _proto(w: Walker) -> None:
    w.protocol = w.number("<B", 1)
    if w.protocol > 5:
        raise Broken(f"pickle protocol {w.protocol}")


def _frame(w: Walker) -> None:
    if w.number("<Q", 8) > len(w.data) - w.at:
        raise Broken("a frame that is longer than the file")


def _next_buffer(w: Walker) -> None:
    raise Broken("buffers outside of the pickle")


TABLE: list[Callable[[Walker], None] | None] = [None] * 256
for _code, _step in {
    b"q": _binput, b"r": _long_binput, b"p": _text_put, b"\x94": _memoize, b"h": _binget, b"j": _long_binget,
    b"g": _text_get, b"X": _text("<I", 4), b"\x8c": _text("<B", 1), b"\x8d": _text("<Q", 8), b"V": _text_unicode,
    b"U": _old_string("<B", 1), b"T": _old_string("<i", 4), b"S": _text_string, b"C": _bytes("<B", 1),
    b"B": _bytes("<I", 4), b"\x8e": _bytes("<Q", 8), b"\x96": _bytes("<Q", 8, bytearray), b"K": _number("<B", 1),
    b"M": _number("<H", 2), b"J": _number("<i", 4), b"G": _number(">d", 8), b"I": _text_int, b"L": _text_long,
    b"F": _text_float, b"\x8a": _long("<B", 1), b"\x8b": _long("<i", 4), b"N": _constant(None),
    b"\x88": _constant(True), b"\x89": _constant(False), b")": _constant(()), b"(": _mark, b"0": _pop, b"1": _pop_mark,
    b"2": _dup, b"t": _tuple, b"\x85": _tuple_of(1), b"\x86": _tuple_of(2), b"\x87": _tuple_of(3), b"]": _empty(list),
    b"}": _empty(dict), b"\x8f": _empty(set), b"l": _list, b"d": _dict, b"\x91": _frozenset, b"s": _setitem,
    b"u": _setitems, b"a": _append, b"e": _appends, b"\x90": _additems, b"c": _global, b"\x93": _stack_global,
    b"R": _reduce, b"\x81": _newobj, b"\x92": _newobj_ex, b"i": _inst, b"o": _obj, b"b": _build, b"P": _persid,
    b"Q": _binpersid, b"\x82": _extension("<B", 1), b"\x83": _extension("<H", 2), b"\x84": _extension("<i", 4),
    b"\x80": _proto, b"\x95": _frame, b"\x97": _next_buffer, b"\x98": lambda w: None,
}.items():  # fmt: skip
    TABLE[_code[0]] = _step


def suspects(walker: Walker, entry: str, allowed: Callable[[Global], bool]) -> list[Suspect]:
    """Return what a pickle would import or call that is not allowed."""
    found = [Suspect(g.full, opcode, place, entry) for g, opcode, place in walker.named if not allowed(g)]
    return found + [Suspect(call.name, opcode, place, entry) for call, opcode, place in walker.called]
