"""The machine that walks over a pickle: its stack, its memo, and what it notes in the place of imports and calls.

It is that of Lib/pickle.py (protocols 0 to 5), with `Global`, `Call` and `Persistent` where that would import, call or
ask for something. What each opcode does stands in `value_opcodes`, `container_opcodes` and `call_opcodes`; `load` runs
them. It takes no more memory than a few dozen times the bytes of the pickle.
"""

from collections.abc import Callable
from struct import Struct
from typing import Any, TypeAlias

from gpudoctor.checkpoint.tree import COMPUTED, Broken, Call, Ended, Global, Persistent

Opcode: TypeAlias = "Callable[[Machine, int], int]"
"""Given the machine and the place of the byte behind the opcode, does what it says; returns the next opcode's place."""
LONG_BINPUT = 0x72
"""Follows most of what is put on the stack; the commonest opcodes take it along, which saves a quarter of the time."""
LINE_MOST = 4096
"""Bytes of a line: a name or a number of protocol 0."""
COMPUTED_MOST = 1000
"""Calls of what the pickle computes that are told."""
MARKS_MOST = 10_000
"""Marks that are open at once: one for each level of nesting."""
uint32 = Struct("<I").unpack_from


class Machine:
    """One pickle's stack and memo. `make` may turn a finished `Call` into something better: a tensor."""

    __slots__ = "at computed data globals made make marks memo persistent protocol stack tuples".split()

    def __init__(
        self,
        data: bytes,
        start: int = 0,
        *,
        make: Callable[[Call], Any] = lambda call: call,
        persistent: Callable[[Any], Any] = Persistent,
    ) -> None:
        """Prepare to walk over `data` from the byte `start` on; `at` is where the next opcode is."""
        self.data, self.at = data, start
        self.make, self.persistent = make, persistent
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}
        self.globals: dict[tuple[str, str], Global] = {}
        self.computed: list[tuple[str, str, int]] = []  # calls of no plain name: what, opcode, place
        self.made = 0  # containers
        self.tuples: dict[int, list[Any]] = {}  # those that are keys, by their hashes
        self.protocol = 0

    def weigh(self) -> None:
        """Raise `Broken` at a flood: more than a checkpoint of this size could make."""
        most = 2_000_000 + len(self.data) // 8
        if max(self.made, len(self.memo), len(self.stack)) > most or len(self.marks) > MARKS_MOST:
            raise Broken("more objects than a checkpoint of its size has")

    def take(self, at: int, size: int) -> bytes:
        """Return that many bytes of the pickle; raises `Ended`."""
        if size < 0 or at + size > len(self.data):
            raise Ended(at + size)
        return self.data[at : at + size]

    def line(self, at: int, most: int = LINE_MOST) -> tuple[bytes, int]:
        """Return what stands before the next newline, and the place behind it; raises `Broken`."""
        end = self.data.find(b"\n", at, at + most)
        if end < 0:
            raise Ended(len(self.data) + 1) if at + most > len(self.data) else Broken("a line without an end")
        return self.data[at:end], end + 1

    def above_mark(self) -> list[Any]:
        """Take everything above the last mark off the stack; raises `Broken`."""
        if not self.marks:
            raise Broken("no mark")
        at = self.marks.pop()
        if at > len(self.stack):
            raise Broken("a mark above the stack")
        items = self.stack[at:]
        del self.stack[at:]
        return items

    def named_global(self, module: str, name: str, opcode: str, place: int) -> Global:
        """Note an import."""
        found = self.globals.get((module, name))
        if found is None:
            found = self.globals[module, name] = Global(module, name, place, opcode)
        return found

    def call(self, function: Any, arguments: Any, opcode: str, place: int) -> Any:
        """Note a call, and give what stands for its result."""
        call = Call(function, arguments, opcode, place)
        if type(function) is Global:
            if function.called is None:
                function.called = (opcode, place)
        elif len(self.computed) < COMPUTED_MOST:
            self.computed.append((_origin(function), opcode, place))
        self.made += 2
        return self.make(call)


def _origin(function: Any) -> str:
    """Say what a pickle calls that it did not import by name."""
    for _ in range(20):
        if not isinstance(function, Call):
            break
        function = function.function
    return f"what {function.full} returns" if isinstance(function, Global) else COMPUTED
