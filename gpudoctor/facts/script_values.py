"""What is known of a value in a script without running it, and of the objects that the script makes."""

import enum
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

RANKS = frozenset({"rank", "local_rank", "node_rank"})
"""The kinds of value that differ from rank to rank by what they are."""


WHOLE = "whole"
"""The literal of a tensor that every rank computes alike: from a loader that nothing splits, or shuffles."""


ANY_OTHER = "or"
"""The text of a test that holds on all ranks but one, and may hold on that one: ``step % 10 or rank != 0``."""
EVERY_NTH = "every nth"
"""The text of a list's part that takes every n-th item from the rank on: ``files[rank::world_size]``."""
ALL_OF = "all of"
"""The text of ``range(len(data))``: a number for each of something, of which nobody knows how many there are."""
CHANGES = "changes"
"""The text of a number that a loop around it changes: what stands there is what it begins with."""
SHUFFLED = "shuffled"
"""The text of a list whose order was drawn at random, and of its parts; `Value.made` is the call that drew it."""
LACKS = "lacks"
"""The text of what ``getattr`` gives where the object surely has no such attribute: the default that it is told."""
ONCE = "once"
"""The text of ``range(1)``: a loop over it has one pass."""


class Place(Struct, frozen=True):
    """A place in a source file; line and column count from 1."""

    path: str
    line: int
    column: int = 1
    end_line: int = 0
    """The last line of the statement or expression; 0 where nobody asked."""

    def __str__(self) -> str:
        return f"{self.path}:{self.line}"


class Known(enum.Enum):
    """How a value is known."""

    LITERAL = "literal"
    """`Value.literal` holds it; ``None`` is one, too."""
    THING = "thing"
    """An object that the script makes: `Value.thing` is its number."""
    SYMBOL = "symbol"
    """Something imported; `Value.text` is its full name, such as ``torch.nn.Linear``."""
    DEFINED = "defined"
    """A function or class of the script; `Value.text` is its qualified name."""
    RANK = "rank"
    LOCAL_RANK = "local_rank"
    NODE_RANK = "node_rank"
    WORLD_SIZE = "world_size"
    DEVICE_COUNT = "device_count"
    DEVICE = "device"
    """`Value.text` is its type (``cuda``, ``cpu``, empty where unknown), `Value.items` holds its index, if any."""
    ARGUMENT = "argument"
    """Taken from the command line or a configuration; `Value.text` is the option's name."""
    INDEX = "index"
    """The variable of a loop over numbers."""
    TENSOR = "tensor"
    SEQUENCE = "sequence"
    MAPPING = "mapping"
    """`Value.items` holds its values; `Value.literal` its keys, ``None`` where they are not literals."""
    CHOICE = "choice"
    """One of `Value.items`, by a condition that is not known here."""
    UNBOUND = "unbound"
    """No value at all: the name is assigned on another branch only."""
    UNKNOWN = "unknown"


class Value(Struct, frozen=True):
    """What is known of one value."""

    known: Known = Known.UNKNOWN
    literal: Any = None
    thing: int = -1
    text: str = ""
    """A name, as its kind says; of what is not known the source that computes it."""
    items: tuple["Value", ...] = ()
    by_rank: bool = False
    """It differs, or may differ, from rank to rank because it is computed from a rank."""
    from_data: bool = False
    """It is computed from this rank's share of the data, or from a clock or a random number."""
    made: int = -1
    """The call that made it, by its place in `Script.calls`."""
    sole: int | None = None
    """Of a test: the one rank on which it is true."""
    all_but: int | None = None
    """Of a test: the one rank on which it is false."""

    @property
    def is_none(self) -> bool:
        """Whether it is surely ``None``."""
        return self.known is Known.LITERAL and self.literal is None

    @property
    def is_literal(self) -> bool:
        """Whether its value is written out; ``None`` is, too."""
        return self.known is Known.LITERAL

    @property
    def is_rank(self) -> bool:
        """Whether it is a rank, global, local or of the node."""
        return self.known.value in RANKS

    def possible(self) -> Iterator["Value"]:
        """Yield what it may be: itself, or each item of a choice."""
        if self.known is Known.CHOICE:
            for item in self.items:
                yield from item.possible()
        else:
            yield self

    @property
    def things(self) -> tuple[int, ...]:
        """The numbers of the objects that it may be."""
        if self.known is not Known.CHOICE:
            return (self.thing,) if self.thing >= 0 else ()
        return tuple(value.thing for value in self.possible() if value.thing >= 0)

    def may_be(self, known: Known) -> bool:
        """Return whether it is of a kind, or may be."""
        return any(value.known is known for value in self.possible())

    @property
    def may_be_rank(self) -> bool:
        """Whether it is a rank, or may be: that of ``setup()``, which returns 0 where there is one process."""
        return any(value.is_rank for value in self.possible())

    @property
    def index(self) -> "Value | None":
        """The device ordinal of a CUDA device: of ``"cuda:1"``, ``1``, ``f"cuda:{rank}"``; else ``None``.

        Of ``"cuda:1" if torch.cuda.is_available() else "cpu"`` that of the GPU.
        """
        if self.known is Known.CHOICE:
            rest = [value for value in self.possible() if not value.on_cpu]
            return rest[0].index if len(rest) == 1 < len(self.items) and rest[0].cuda else None
        if self.known is Known.DEVICE:
            return self.items[0] if self.items and self.text != "cpu" else None
        if isinstance(self.literal, str):
            kind, _, number = self.literal.partition(":")
            return Value(Known.LITERAL, int(number)) if kind == "cuda" and number.isdecimal() else None
        if self.known in (Known.LITERAL, Known.ARGUMENT, Known.INDEX) or self.is_rank:
            return None if self.is_none or isinstance(self.literal, bool) else self
        return None

    @property
    def cuda(self) -> bool:
        """Whether it surely is a CUDA device, with or without an index."""
        if self.known is Known.DEVICE:
            return self.text == "cuda"
        if isinstance(self.literal, str):
            return self.literal.partition(":")[0] == "cuda"
        return self.is_rank or (type(self.literal) is int and self.known is Known.LITERAL)

    @property
    def on_cpu(self) -> bool:
        """Whether it surely is the CPU, as a device."""
        return (self.literal if self.is_literal else self.text) == "cpu"

    @property
    def every_nth(self) -> bool:
        """Whether it asks if a number is among those that this rank takes: ``i % world_size == rank``."""
        rank = next((part for part in self.items if part.may_be_rank), None)
        rest = next((part for part in self.items if part.text == "Mod"), None)
        if self.text != "Eq" or rank is None or rest is None:
            return False
        return any(item.may_be(Known.WORLD_SIZE) for item in rest.items[1:])

    @property
    def of_batch(self) -> bool:
        """Whether it is a tensor that a loader gives, or that is computed from one."""
        return self.known is Known.TENSOR and (self.from_data or self.literal == WHOLE)

    @property
    def maybe_cuda(self) -> bool:
        """Whether it is a CUDA device, or one of those that it may be is."""
        return any(value.cuda for value in self.possible())


UNKNOWN = Value()


class Thing(Struct, frozen=True):
    """An object that the script makes."""

    number: int
    kind: str
    """``model`` (any nn.Module that is no wrapper), ``ddp``, ``dp``, ``fsdp``, ``compiled``,
    ``prepared`` (by accelerate, which wraps it where there are several ranks), ``loss`` (a loss module),
    ``optimizer``, ``scheduler``, ``scaler``, ``dataset``, ``sampler``, ``loader``, ``generator``, ``parser``,
    ``arguments``, ``state_dict``, ``checkpoint`` (what torch.load returned), ``process``, ``writer``, ``instance``
    (of another class of the script), ``group``, ``stream`` or ``object``."""
    type: str
    """The full name of what makes it: ``torch.optim.SGD``, or the qualified name of the script's own class."""
    place: Place
    made: int = -1
    """The call that made it, by its place in `Script.calls`."""
    inner: int = -1
    """The thing that it wraps: the model in a DistributedDataParallel, the data set of a loader, the model whose state
    dict it is."""
    escapes: bool = False
    """It went where its use is not seen: returned by what nobody calls here, or handed to an unknown function."""
