"""Walk the opcodes of a pickle into plain data; nothing is imported and nothing is called.

The machine is that of Lib/pickle.py (protocols 0 to 5), with `Global`, `Call` and `Persistent` in the place of what it
would import, call or ask for. It takes no more memory than a few dozen times the bytes of the pickle.
"""

import struct
from collections.abc import Callable
from typing import Any

from gpudoctor.checkpoint.pickle.call_opcodes import TABLE, Stop
from gpudoctor.checkpoint.tree import Broken, Call, Ended, Global, Persistent, Suspect
from gpudoctor.text import shown

__all__ = ["PICKLE_MOST", "Broken", "Ended", "Machine", "suspects"]

PICKLE_MOST = 1 << 29
"""Bytes of a pickle: a checkpoint of a million tensors has a fifth of that."""
BURST = range(100_000)
"""Opcodes between two looks at how much was made."""
MARKS_MOST = 10_000
"""Marks that are open at once: one for each level of nesting."""
COMPUTED_MOST = 1000
"""Calls of what the pickle computes that are told."""


class Machine:
    """One pickle's stack and memo. `make` may turn a finished `Call` into something better: a tensor."""

    __slots__ = tuple(
        "at computed data globals made make marks memo persistent protocol stack tuples".split()
    )

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

    def walk(self) -> Any:
        """Return what the pickle holds; raises `Broken` where it holds nothing that pickle could read."""
        data, table, at = self.data, TABLE, self.at
        try:
            while True:
                for _ in BURST:
                    at = table[data[at]](self, at + 1)
                self._weigh()
        except Stop:
            if not self.stack:
                raise Broken(f"damaged pickle at byte {at}: it ends with an empty stack") from None
            return self.stack.pop()
        except Ended as error:
            self.at = at
            raise Ended(error.needed, f"damaged pickle at byte {at}: {error}") from None
        except Broken as error:
            self.at = at
            raise Broken(f"damaged pickle at byte {at}: {error}") from None
        except (IndexError, struct.error, KeyError, TypeError, ValueError, AttributeError) as error:
            self.at = at
            if isinstance(error, struct.error) or at + 1 >= len(data):
                raise Ended(len(data) + 1, f"damaged pickle at byte {at}: it ends too soon") from None
            raise Broken(f"damaged pickle at byte {at}: {_reason(error)}") from None

    def _weigh(self) -> None:
        """Stop at a flood: more than a checkpoint of this size could make."""
        most = 2_000_000 + len(self.data) // 8
        if max(self.made, len(self.memo), len(self.stack)) > most or len(self.marks) > MARKS_MOST:
            raise Broken("more objects than a checkpoint of its size has")

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


def _reason(error: Exception) -> str:
    """Say in words what an exception of a step means."""
    if isinstance(error, KeyError):
        return f"a reference to memo {error}, which is nothing"
    if isinstance(error, IndexError):
        return "it takes from an empty stack"
    if isinstance(error, UnicodeDecodeError):
        return "a text that is no UTF-8"
    return shown(str(error))


def _origin(function: Any) -> str:
    """Say what a pickle calls that it did not import by name."""
    for _ in range(20):
        if not isinstance(function, Call):
            break
        function = function.function
    return (
        f"what {function.full} returns"
        if isinstance(function, Global)
        else "something that the pickle computes"
    )


def suspects(walker: Machine, entry: str, allowed: Callable[[Global], bool]) -> list[Suspect]:
    """Return what a pickle would import or call that is not allowed, in the order of the file.

    Each name stands once: with the opcode and the place of its first call, or of its import where it is not called.
    """
    found = {}
    for name in walker.globals.values():
        if not allowed(name):
            opcode, place = name.called or (name.opcode, name.place)
            found[name.full] = Suspect(name.full, opcode, place, entry)
    for text, opcode, place in walker.computed:
        found.setdefault(f"{text} {opcode}", Suspect(text, opcode, place, entry))
    return sorted(found.values(), key=lambda suspect: suspect.place)
