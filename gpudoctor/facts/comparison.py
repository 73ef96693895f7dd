"""How the keys of a checkpoint differ from those of a model or of another checkpoint."""

import enum

from msgspec import Struct


class Outcome(enum.Enum):
    """What a comparison comes to, the best first."""

    LOADS = "loads"
    """As it is."""
    PREFIX = "prefix"
    """Once a prefix, or a wrapper's component, is taken off the names or put into them."""
    SHAPE = "shape"
    """The same names, and tensors of another shape."""
    ARCHITECTURE = "architecture"
    """Another model, or one that is written otherwise."""


class ShapeDifference(Struct, frozen=True, kw_only=True):
    """A tensor that has the same name on both sides, and another shape."""

    name: str
    """The target's; the file's own is the same after the change of prefix."""
    own: tuple[int, ...]
    """In the file."""
    other: tuple[int, ...]
    """In the target."""
    reason: str = ""
    """What usually causes this; empty where nothing is usual about it."""


class KeyGroup(Struct, frozen=True, kw_only=True):
    """Keys with a common stem that one side has and the other does not, or has with other numbers."""

    stem: str
    """Their common beginning, numbers folded: ``encoder.layer.*.output``."""
    own: int
    """How many are in the file alone."""
    other: int
    """How many are in the target alone."""
    example: str
    """One of them."""
    nearest: str = ""
    """The key of the other side that is most like the example; empty where none is."""
    same_shape: bool = False
    """Whether the nearest key has the example's shape."""


class Comparison(Struct, frozen=True, kw_only=True):
    """Whether a state dict of a file loads into a target, and what is in the way."""

    outcome: Outcome
    sentence: str
    """The outcome in one sentence."""
    path: str = ""
    """The file."""
    entry: str = ""
    """The state dict in it, empty where the file itself is one."""
    keys: int = 0
    """How many tensors that state dict has."""
    target: str = ""
    """What the file was compared with, in words."""
    target_entry: str = ""
    """The state dict of the target, where that is a checkpoint that has several or wraps one."""
    target_keys: int = 0
    matched: int = 0
    """How many names both have, after the change of prefix."""
    strip: str = ""
    """Prefix to take off the file's names."""
    add: str = ""
    """Prefix to put in front of them, after that."""
    renames: tuple[tuple[str, str], ...] = ()
    """Regular expressions and their replacements, in order; with them `strip` and `add` are among these. Empty too
    where the target's own wrappers are to be put into names: only the lines of Python do that."""
    shapes: tuple[ShapeDifference, ...] = ()
    groups: tuple[KeyGroup, ...] = ()
    left_out: int = 0
    """How many of the file's keys the lines leave out because the target has no place for them."""
    drift: tuple[str, ...] = ()
    """Which change of which library explains keys that differ, a sentence each."""
    likely: tuple[str, ...] = ()
    """Parts that have another name in the target and the same names inside; the lines rename them."""
    fits: tuple[str, ...] = ()
    """Entries or prefixes of the file that fit the target equally well, the one that the lines take first."""
    settled: bool = False
    """Whether torch itself was asked: ``load_state_dict`` of the real model with these names, shapes and types."""
    notes: tuple[str, ...] = ()
    load_line: str = ""
    """Python that loads what can be loaded into ``model``, a few lines; empty where nothing can."""
    fix_line: str = ""
    """The ``gpudoctor checkpoint fix`` line that writes a copy with the target's names; empty where none can."""

    @property
    def said(self) -> str:
        """The outcome as the message of a finding."""
        return f"against {self.target}: {self.sentence.rstrip('.')}"

    @property
    def evidence(self) -> list[str]:
        """The first tensors of other shapes."""
        return [
            f"{s.name}: {list(s.own)} in the file, {list(s.other)} in the target"
            + (f" ({s.reason})" if s.reason else "")
            for s in self.shapes[:5]
        ]
