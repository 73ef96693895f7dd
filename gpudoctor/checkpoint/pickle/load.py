"""Walk one pickle of a checkpoint, and keep what is known of it where it breaks off."""

from typing import Any

from msgspec import Struct

from gpudoctor.checkpoint.pickle.machine import PICKLE_MOST, Broken, Machine, suspects
from gpudoctor.checkpoint.pickle.torch_tensors import Rebuilder
from gpudoctor.checkpoint.pickle.weights_only import allowed
from gpudoctor.checkpoint.tree import Suspect

__all__ = ["PICKLE_MOST", "Walked", "walked"]


PROTOCOL_MOST = 3
"""Later protocols have opcodes that ``torch.load(weights_only=True)`` does not know (torch 2.15)."""


class Walked(Struct, frozen=True):
    """What a pickle holds."""

    root: Any
    suspects: list[Suspect]
    trouble: list[str]
    end: int
    """Byte behind it."""
    protocol: int

    @property
    def notes(self) -> list[str]:
        """What a reader of it should know."""
        if self.protocol <= PROTOCOL_MOST:
            return []
        return [f"pickled with protocol {self.protocol}, which torch.load(weights_only=True) does not read"]


def walked(data: bytes, entry: str, rebuilder: Rebuilder, start: int = 0, *, report: bool = True) -> Walked:
    """Walk a pickle; raises `Broken` where it is damaged and harmless.

    A damaged one may run code before it breaks off. One that would is no error but trouble: without it the reader
    would not hear of the code. With `report` unset the damage is an error nevertheless.
    """
    machine = Machine(data, start, make=rebuilder.make, persistent=rebuilder.storage)
    root, trouble = None, []
    try:
        root = machine.walk()
    except Broken as error:
        if not report or not suspects(machine, entry, allowed):
            raise
        trouble = [str(error)]
    return Walked(root, suspects(machine, entry, allowed), trouble, machine.at, machine.protocol)
