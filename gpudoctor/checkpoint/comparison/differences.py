"""What remains between two state dicts once prefixes and names are settled, sorted by what it means for loading."""

from msgspec import Struct

from gpudoctor.checkpoint.comparison.library_changes import (
    BASE_LAYER,
    COUNTER,
    adapters,
    extras,
    fused,
    renames,
)
from gpudoctor.checkpoint.comparison.parts import improve, renamed_parts
from gpudoctor.checkpoint.comparison.shape_reasons import OBJECT, loads, shape_differences
from gpudoctor.checkpoint.comparison.sides import HEADS, Sides, tied
from gpudoctor.facts.checkpoint_file import StateDict
from gpudoctor.facts.comparison import ShapeDifference

COUNTED = 2
"""Version of BatchNorm's format since which a file without ``num_batches_tracked`` is refused (torch 0.4.1)."""


class Differing(Struct):
    """The rest, by names after the steps."""

    shapes: tuple[ShapeDifference, ...] = ()
    dropped: dict[str, list[str]] = {}
    """Keys of the file that nothing needs, by the pattern of their end."""
    extra: list[str] = []
    """Keys of the file that the target has no place for."""
    adapters: list[str] = []
    """Those among them that are weights of adapters."""
    counters: list[str] = []
    """Counters of BatchNorm that the file lacks."""
    filled: list[str] = []
    """Other keys of the target that it fills by itself."""
    tied: dict[str, str] = {}
    """Keys that the file lacks, and the keys of the file that are the same parameters in the target."""
    missing: list[str] = []
    """Keys of the target that nothing fills."""
    drift: list[str] = []
    likely: list[str] = []
    words: list[str] = []
    """The same in a few words each."""
    guesses: list[str] = []
    notes: list[str] = []
    fused: str = ""
    """Why query, key and value differ, where that is because one side keeps them in one tensor."""
    renamed: bool = False
    """Whether other names than prefixes were changed."""

    @property
    def explained(self) -> bool:
        """Tell whether all that the target needs is there."""
        return not self.missing and not self.shapes


def differing(sides: Sides) -> Differing:
    """Sort what remains, and take the renames that explain some of it: `sides` is changed by these."""
    found = Differing(renamed=sides.adapted, drift=[BASE_LAYER] if sides.adapted else [])
    own_only, other_only = sides.alone()
    if own_only and other_only and sides.expressed:
        _rename(sides, found, own_only, other_only)
    own_only, other_only = sides.alone()
    found.dropped, found.extra, why_own = extras(own_only, sides.own, sides.other)
    why_own += extras(list(sides.left), sides.left, sides.other)[2]
    filled, rest, why_other = extras(other_only, sides.other, sides.own)
    counters = filled.pop(COUNTER, [])
    found.counters = counters
    found.filled = [name for names in filled.values() for name in names]
    found.tied = {name: twin for name in rest if (twin := tied(name, sides))}
    found.missing = [name for name in rest if name not in found.tied]
    found.adapters = adapters(found.extra)
    found.drift += [*why_own, *why_other]
    found.fused = fused(found.extra, found.missing)
    found.notes += _maybe_tied(found, sides)
    found.shapes = shape_differences(sides.own, sides.other)
    return found


def refuses_counters(found: Differing, state: StateDict, *, changed: bool) -> bool:
    """Tell whether torch refuses a file for the counters of BatchNorm that it lacks.

    It fills them in for a module of an older version; a dict that a line of Python makes anew has no versions at all,
    which is taken for an older one (torch/nn/modules/batchnorm.py).
    """
    if changed:
        return False
    return any(state.versions.get(name[: -len(COUNTER) - 1], 0) >= COUNTED for name in found.counters)


def fitting(sides: Sides) -> list[str]:
    """Return the names that both sides have with shapes that load."""
    return [name for name, key in sides.own.items() if name in sides.other and loads(key, sides.other[name])]


def _rename(sides: Sides, found: Differing, own_only: list[str], other_only: list[str]) -> None:
    for step, why in renames(own_only, other_only):
        names = improve([step], sides.own, sides.other)
        if names is not None:
            sides.rename([step], names)
            found.drift.append(why)
            found.renamed = True
    parts = renamed_parts(*sides.alone(), sides.own, sides.other)
    found.guesses = parts.guesses
    names = improve(parts.steps, sides.own, sides.other) if parts.steps else None
    if names is not None:
        sides.rename(parts.steps, names)
        found.likely = parts.likely
        found.words = parts.words
        found.renamed = True


def _maybe_tied(found: Differing, sides: Sides) -> list[str]:
    """Say of an output layer that is missing that it may be tied, where the target does not tell."""
    if any(key.device == "meta" for key in sides.other.values()):
        return []  # a model that was built tells it
    heads = [name for name in found.missing if name.endswith(HEADS) and sides.other[name].layout != OBJECT]
    for name in heads:
        shape = sides.other[name].shape
        like = [
            n for n, key in sides.own.items() if n in sides.other and key.shape == shape and len(shape) == 2
        ]
        twin = next((n for n in like if "emb" in n or n.endswith("wte.weight")), "")
        if twin:
            saved = f"if the model ties {name} to {twin}, it was saved once, and strict=False"
            loose = "that layer keeps the numbers that it was built with"
            return [f"{saved} (with model.tie_weights()) is enough; if it does not, {loose}"]
    return []
