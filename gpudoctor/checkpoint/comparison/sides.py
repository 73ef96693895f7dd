"""Both sides of a comparison: what the file's names become, and which of its keys are taken at all."""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.checkpoint.comparison.alignment import align
from gpudoctor.checkpoint.comparison.cover import covering, standing
from gpudoctor.checkpoint.comparison.library_changes import COUNTER
from gpudoctor.checkpoint.comparison.renaming import Step, add, strip
from gpudoctor.checkpoint.comparison.shape_reasons import OBJECT, loads
from gpudoctor.facts.checkpoint_file import Key, StateDict

ONE = "one parameter "
"""Begins the storage of a model's key that is the same parameter as another one's."""
BASE = ".base_layer."
"""Where PEFT keeps what a layer with an adapter had before."""
HEADS = ("lm_head.weight", "decoder.weight", "output_projection.weight", "proj_out.weight")
"""Output layers that models of language tie to their embedding."""


class Sides(Struct):
    """Both sides while they are compared."""

    own: dict[str, Key]
    """The file's entries that are taken, by the names that they have after the steps."""
    other: dict[str, Key]
    steps: list[Step]
    before: list[str]
    """The names as they are in the file, in the order of `own`."""
    expressed: bool = True
    """Whether the steps lead to these names."""
    only: str = ""
    """The prefix that every key that is taken has in the file, where others do not have it."""
    left: dict[str, Key] = {}
    """What does not begin with `only` in the file."""
    adapted: bool = False
    """Whether PEFT's ``base_layer`` was taken out of names."""
    fits: tuple[str, ...] = ()
    """Prefixes that fit equally, the one that is taken first; empty where there is no choice."""

    def alone(self) -> tuple[list[str], list[str]]:
        """Return the names that the file alone has, and those that the target alone has."""
        return [n for n in self.own if n not in self.other], [n for n in self.other if n not in self.own]

    def matched(self) -> int:
        """Return how many tensors have a name that both sides have."""
        return sum(name in self.other for name, key in self.own.items() if key.layout != OBJECT)

    def originals(self, names: set[str]) -> list[str]:
        """Return what keys that have these names after the steps are called in the file."""
        return [before for before, name in zip(self.before, self.own, strict=True) if name in names]

    def rename(self, steps: Sequence[Step], names: Sequence[str]) -> None:
        """Take steps, which lead to `names`."""
        self.own = dict(zip(names, self.own.values(), strict=True))
        self.steps += steps


def aligned(own: StateDict, other: StateDict) -> Sides:
    """Return both sides with the change of prefix after which they agree most."""
    ours, theirs = entries(own), entries(other)
    bare = {name.replace(BASE, "."): name for name in ours}
    if len(bare) < len(ours) or all(map(str.__eq__, bare, ours)) or any(BASE in name for name in theirs):
        return _aligned(ours, theirs)
    sides = _aligned(dict(zip(bare, ours.values(), strict=True)), theirs)
    sides.before = [bare[name] for name in sides.before]
    sides.left = {bare[name]: key for name, key in sides.left.items()}
    sides.steps.insert(0, Step(re.escape(BASE), "."))
    sides.adapted = True
    return sides


def _aligned(ours: dict[str, Key], theirs: dict[str, Key]) -> Sides:
    names = list(ours)
    for wanted in dict.fromkeys((tuple(theirs), tuple(_needed(theirs)))):
        if prefixes := covering(names, wanted):
            prefix, fits = _chosen(prefixes, ours, {name: theirs[name] for name in wanted})
            return _under(prefix, fits, ours, theirs)
    if (prefixes := covering(list(theirs), names)) and len(names) < len(theirs):
        prefix, fits = _chosen(prefixes, theirs, ours)
        put = dict(zip([prefix + name for name in names], ours.values(), strict=True))
        return Sides(own=put, other=theirs, steps=[add(prefix)] if prefix else [], before=names, fits=fits)
    found = align(names, list(theirs))
    return Sides(
        own=dict(zip(found.names, ours.values(), strict=True)), other=theirs, steps=list(found.steps),
        before=names, expressed=found.expressed,
    )  # fmt: skip


def entries(state: StateDict) -> dict[str, Key]:
    """Return what a state dict has by name: its tensors, and its other entries as keys of the layout `OBJECT`."""
    found = {key.name: key for key in state.keys}
    for name in state.others:
        key = Key(name=name, dtype="", shape=(), size=0, device="", layout=OBJECT)
        found.setdefault(name, key)
    return found


def tied(name: str, sides: Sides) -> str:
    """Return the key of the file that fills a missing one because the target ties both; empty where it does not."""
    key = sides.other[name]
    if key.storage is None or not (key.storage.startswith(ONE) or name.endswith(HEADS)):
        return ""
    return next(
        (
            twin
            for twin, with_ in sides.other.items()
            if with_.storage == key.storage
            and twin != name
            and twin in sides.own
            and with_.shape == key.shape
        ),
        "",
    )


def _needed(theirs: Mapping[str, Key]) -> list[str]:
    """Return the names that a file of this model cannot lack: no counters of BatchNorm, one of those that are tied."""
    seen: set[str] = set()
    needed = []
    for name, key in theirs.items():
        counter = name.endswith(COUNTER) and name[: -len(COUNTER)] + "running_mean" in theirs
        twin = key.storage is not None and key.storage in seen and (
            key.storage.startswith(ONE) or name.endswith(HEADS)
        )  # fmt: skip
        seen.add(key.storage or "")
        if not counter and not twin:
            needed.append(name)
    return needed


def _chosen(
    prefixes: Sequence[str], whole: Mapping[str, Key], part: Mapping[str, Key]
) -> tuple[str, tuple[str, ...]]:
    """Return which of the prefixes that make `part` of `whole` is taken, and all that fit as well as it."""
    differing = {
        prefix: sum(not loads(whole[prefix + name], key) for name, key in part.items()) for prefix in prefixes
    }
    least = min(differing.values())
    equal = [prefix for prefix in prefixes if differing[prefix] == least]
    equal.sort(key=lambda prefix: (standing(prefix), len(prefix)))
    return equal[0], tuple(equal) if len(equal) > 1 else ()


def _under(prefix: str, fits: tuple[str, ...], ours: Mapping[str, Key], theirs: dict[str, Key]) -> Sides:
    sides = Sides(own={}, other=theirs, steps=[strip(prefix)] if prefix else [], before=[], fits=fits)
    left = {}
    for name, key in ours.items():
        if name.startswith(prefix):
            sides.own[name[len(prefix) :]] = key
            sides.before.append(name)
        else:
            left[name] = key
    return replace(sides, left=left, only=prefix if left else "")
