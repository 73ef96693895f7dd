"""Load a pickle into plain data, as pickle itself would, and say what it would import or call on the way."""

import struct
from collections.abc import Callable
from typing import Any

import msgspec

from gpudoctor.checkpoint.pickle.call_opcodes import CALL_OPCODES, Stop, unknown
from gpudoctor.checkpoint.pickle.container_opcodes import CONTAINER_OPCODES
from gpudoctor.checkpoint.pickle.machine import Machine, Opcode
from gpudoctor.checkpoint.pickle.torch_tensors import Rebuilder
from gpudoctor.checkpoint.pickle.value_opcodes import VALUE_OPCODES
from gpudoctor.checkpoint.pickle.weights_only import allowed as allowed_by_torch
from gpudoctor.checkpoint.tree import Broken, Ended, Global
from gpudoctor.facts.checkpoint_file import Foreign
from gpudoctor.text import shown

PICKLE_MOST = 1 << 29
"""Bytes of a pickle: a checkpoint of a million tensors has a fifth of that."""
BURST = range(100_000)
"""Opcodes between two looks at how much was made."""
PROTOCOL_OF_TORCH = 3
"""Later protocols have opcodes that ``torch.load(weights_only=True)`` does not know (torch 2.15)."""
OPCODES: list[Opcode] = [unknown] * 256
"""What each opcode does, by its byte."""
for _code, _opcode in (VALUE_OPCODES | CONTAINER_OPCODES | CALL_OPCODES).items():
    OPCODES[_code[0]] = _opcode


class Loaded(msgspec.Struct, frozen=True):
    """What a pickle holds."""

    root: Any
    suspects: list[Foreign]
    trouble: list[str]
    end: int
    """Byte behind it."""
    protocol: int

    @property
    def notes(self) -> list[str]:
        """What a reader of it should know."""
        if self.protocol <= PROTOCOL_OF_TORCH:
            return []
        return [f"pickled with protocol {self.protocol}, which torch.load(weights_only=True) does not read"]


def load(
    data: bytes,
    entry: str,
    rebuilder: Rebuilder,
    start: int = 0,
    *,
    report: bool = True,
    allowed: Callable[[Global], bool] = allowed_by_torch,
) -> Loaded:
    """Load the pickle that begins at the byte `start`; raises `Broken` where it is damaged and harmless.

    A damaged one may run code before it breaks off. One that would is no error but trouble: without it the reader
    would not hear of the code. With `report` unset the damage is an error nevertheless. `allowed` says which imports
    are no suspects; `entry` is what the pickle is called in them.
    """
    machine = Machine(data, start, make=rebuilder.make, persistent=rebuilder.storage)
    root, trouble = None, []
    try:
        root = run(machine)
    except Broken as error:
        if not report or not _suspects(machine, entry, allowed):
            raise
        trouble = [str(error)]
    return Loaded(root, _suspects(machine, entry, allowed), trouble, machine.at, machine.protocol)


def run(machine: Machine) -> Any:
    """Return what the machine's pickle holds; raises `Broken` where it holds nothing that pickle could read."""
    data, table, at = machine.data, OPCODES, machine.at
    try:
        while True:
            for _ in BURST:
                at = table[data[at]](machine, at + 1)
            machine.weigh()
    except Stop:
        if not machine.stack:
            raise Broken(f"damaged pickle at byte {at}: it ends with an empty stack") from None
        return machine.stack.pop()
    except Ended as error:
        machine.at = at
        raise Ended(error.needed, f"damaged pickle at byte {at}: {error}") from None
    except Broken as error:
        machine.at = at
        raise Broken(f"damaged pickle at byte {at}: {error}") from None
    except (IndexError, struct.error, KeyError, TypeError, ValueError, AttributeError) as error:
        machine.at = at
        if isinstance(error, struct.error) or at + 1 >= len(data):
            raise Ended(len(data) + 1, f"damaged pickle at byte {at}: it ends too soon") from None
        raise Broken(f"damaged pickle at byte {at}: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    """Say in words what an exception of an opcode means."""
    if isinstance(error, KeyError):
        return f"a reference to memo {error}, which is nothing"
    if isinstance(error, IndexError):
        return "it takes from an empty stack"
    if isinstance(error, UnicodeDecodeError):
        return "a text that is no UTF-8"
    return shown(str(error))


def _suspects(machine: Machine, entry: str, allowed: Callable[[Global], bool]) -> list[Foreign]:
    """Return what a pickle would import or call that is not allowed, in the order of the file.

    Each name stands once: with the opcode and the place of its first call, or of its import where it is not called.
    """
    found = {}
    for name in machine.globals.values():
        if not allowed(name):
            opcode, place = name.called or (name.opcode, name.place)
            found[name.full] = Foreign(name.full, opcode, place, entry)
    for text, opcode, place in machine.computed:
        found.setdefault(f"{text} {opcode}", Foreign(text, opcode, place, entry))
    return sorted(found.values(), key=lambda suspect: suspect.place)
