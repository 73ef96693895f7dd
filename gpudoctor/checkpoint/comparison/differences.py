"""What remains between two state dicts once the names are as alike as they get, sorted by what it means for loading."""

from msgspec import Struct

from gpudoctor.checkpoint.comparison.alignment import COUNTER, HEADS, Alignment, one_parameter
from gpudoctor.checkpoint.comparison.library_changes import adapters, extras, fused
from gpudoctor.checkpoint.comparison.shapes import OBJECT, loads, shape_differences
from gpudoctor.facts.checkpoint_file import StateDict
from gpudoctor.facts.comparison import Outcome, ShapeDifference

COUNTED = 2
"""Version of BatchNorm's format since which a file without ``num_batches_tracked`` is refused (torch 0.4.1)."""


class Differences(Struct, frozen=True):
    """The rest, by the names that the target would have."""

    shapes: tuple[ShapeDifference, ...]
    unneeded: list[str]
    """Keys of the file that no target needs."""
    extra: list[str]
    """Other keys of the file that the target has no place for."""
    adapters: list[str]
    """Those among them that are weights of adapters."""
    counters: list[str]
    """Counters of BatchNorm that the file lacks."""
    filled: list[str]
    """Other keys of the target that it fills by itself."""
    tied: dict[str, str]
    """Keys that the file lacks, and the keys of the file that are the same parameters in the target."""
    missing: list[str]
    """Keys of the target that nothing fills."""
    drift: list[str]
    """Which change of which library explains keys of one side, a sentence each."""
    fused: str
    """Why query, key and value differ, where that is because one side keeps them in one tensor."""
    maybe_tied: str
    """That a missing output layer may be tied, where the target does not tell."""
    strict: bool
    """Whether the file has all that ``load_state_dict`` asks for where nothing is missing."""

    @property
    def unplaced(self) -> set[str]:
        """Return the keys of the file that the target has no place for."""
        return {*self.unneeded, *self.extra}

    @property
    def lacking(self) -> list[str]:
        """Return the keys that the file lacks without harm."""
        return [*self.tied, *self.filled, *self.counters]


def classify(alignment: Alignment, own: StateDict) -> Differences:
    """Sort what remains; `own` is the file's state dict as it was."""
    own_only, other_only = alignment.alone()
    unneeded, extra, why_own = extras(own_only, alignment.own, alignment.other)
    why_own += extras(list(alignment.left), alignment.left, alignment.other)[2]
    harmless, rest, why_other = extras(other_only, alignment.other, alignment.own)
    counters = [name for name in harmless if name.endswith(COUNTER)]
    filled = [name for name in harmless if not name.endswith(COUNTER)]
    ties = _ties(alignment)
    tied = {name: ties[name] for name in rest if name in ties}
    missing = [name for name in rest if name not in tied]
    made_anew = bool(alignment.steps or alignment.wrappers or alignment.left or own_only)
    return Differences(
        shapes=shape_differences(alignment.own, alignment.other), unneeded=unneeded, extra=extra,
        adapters=adapters(extra), counters=counters, filled=filled, tied=tied, missing=missing,
        drift=[*why_own, *why_other], fused=fused(extra, missing), maybe_tied=_maybe_tied(missing, alignment),
        strict=not (tied or filled or (not made_anew and refuses_counters(counters, own))),
    )  # fmt: skip


def judge(alignment: Alignment, differences: Differences, own: StateDict) -> Outcome:
    """Return what the differences come to."""
    prefixes = all(step.strip or step.add or step.component for step in alignment.steps)
    if differences.missing or own.sharded:
        return Outcome.ARCHITECTURE
    if differences.shapes:  # with many keys that the target does not have, it is another model
        many = len(differences.extra) * 4 > len(alignment.other)
        return Outcome.ARCHITECTURE if many else Outcome.SHAPE
    if not prefixes or alignment.adapted:
        return Outcome.ARCHITECTURE
    if alignment.steps or alignment.wrappers:
        return Outcome.PREFIX
    return Outcome.ARCHITECTURE if differences.unplaced or not differences.strict else Outcome.LOADS


def fitting(alignment: Alignment) -> list[str]:
    """Return the names that both sides have with shapes that load."""
    other = alignment.other
    return [name for name, key in alignment.own.items() if name in other and loads(key, other[name])]


def refuses_counters(counters: list[str], state: StateDict) -> bool:
    """Return whether torch refuses a file for the counters of BatchNorm that it lacks.

    It fills them in for a module of an older version; a dict that a line of Python makes anew has no versions at all,
    which is taken for an older one (torch/nn/modules/batchnorm.py).
    """
    return any(state.versions.get(name[: -len(COUNTER) - 1], 0) >= COUNTED for name in counters)


def _ties(alignment: Alignment) -> dict[str, str]:
    """Return the target's keys that are the same parameter as one that the file has, and that one."""
    there: dict[tuple[str | None, tuple[int, ...]], str] = {
        (key.storage, key.shape): name
        for name, key in reversed(alignment.other.items())
        if key.storage is not None and name in alignment.own
    }
    return {
        name: there[key.storage, key.shape]
        for name, key in alignment.other.items()
        if (key.storage, key.shape) in there and one_parameter(name, key)
    }


def _maybe_tied(missing: list[str], alignment: Alignment) -> str:
    """Say of an output layer that is missing that it may be tied, where the target does not tell."""
    if any(key.device == "meta" for key in alignment.other.values()):
        return ""  # a model that was built tells it
    for name in missing:
        if not name.endswith(HEADS) or alignment.other[name].layout == OBJECT:
            continue
        shape = alignment.other[name].shape
        for twin, key in alignment.own.items():
            embedding = "emb" in twin or twin.endswith("wte.weight")
            if embedding and twin in alignment.other and key.shape == shape:
                return (
                    f"if the model ties {name} to {twin}, it was saved once, and strict=False (with "
                    "model.tie_weights()) is enough; if it does not, that layer keeps the numbers that it was built "
                    "with"
                )
    return ""
