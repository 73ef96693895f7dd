"""Choose among several state dicts of a file, and say which others would do as well."""

from collections.abc import Sequence

from msgspec.structs import replace

from gpudoctor.checkpoint.comparison.cover import standing
from gpudoctor.checkpoint.comparison.draft import Draft
from gpudoctor.checkpoint.comparison.load_line import is_module
from gpudoctor.facts.checkpoint_file import CheckpointFile, StateDict
from gpudoctor.facts.comparison import Comparison
from gpudoctor.text import listed

MOST = 6
"""State dicts of one file that are compared, the largest."""
ORDER = {"loads": 0, "prefix": 1, "shape": 2, "architecture": 3}


def largest(state_dicts: Sequence[StateDict]) -> list[StateDict]:
    """Return the largest state dicts of a file, in its order."""
    if len(state_dicts) <= MOST:
        return list(state_dicts)
    kept = sorted(state_dicts, key=lambda state: -len(state.keys))[:MOST]
    return [state for state in state_dicts if state in kept]


def ranked(drafts: Sequence[Draft], file: CheckpointFile) -> list[Draft]:
    """Return the comparisons of a file's state dicts, the best first.

    What fits comes first: of that, state dicts before pickled modules, whose loading runs what is in the file; then
    what is called as the model itself is before EMA and other copies.
    """

    def key(found: Draft) -> tuple[object, ...]:
        entry, module = found.comparison.entry, is_module(file, found.comparison.entry)
        if found.fits:
            return (0, _poor(found), module, standing(entry), ORDER[found.comparison.outcome])
        return (1, ORDER[found.comparison.outcome], -found.comparison.matched, module, standing(entry))

    return sorted(drafts, key=key)


def told(found: Comparison, chosen: Draft, drafts: Sequence[Draft], file: CheckpointFile) -> Comparison:
    """Say of the comparison that was chosen which other entries of the file fit as well, or that it fits best."""
    if len(file.state_dicts) < 2:
        return found
    module = is_module(file, chosen.comparison.entry)
    equal = [
        d
        for d in drafts
        if d.fits
        and chosen.fits
        and _poor(d) == _poor(chosen)
        and is_module(file, d.comparison.entry) == module
    ]
    entries = list(dict.fromkeys(_shown(d.comparison.entry) for d in (chosen, *equal)))
    if len(entries) == 1:
        note = f"of {len(file.state_dicts)} state dicts in the file, {entries[0]} matches best"
        return replace(found, notes=(*found.notes, note))
    how = (
        ", since that is what the model itself is mostly called"
        if standing(chosen.comparison.entry) < min(standing(entry) for entry in entries[1:])
        else ""
    )
    select = [f"--select {entry}" for entry in entries[1:]] if "--select" in found.fix_line else entries[1:]
    note = (
        f"{len(entries)} state dicts of the file fit equally ({', '.join(entries)}): the lines take {entries[0]}{how}; "
        f"for another, put its name in the lines ({listed(select)})"
    )
    return replace(found, notes=(*found.notes, note), fits=tuple(entries))


def _poor(found: Draft) -> bool:
    """Tell whether only a small part of what is in it is taken: a copy inside of something else."""
    return found.comparison.left_out > 3 * found.comparison.matched


def _shown(entry: str) -> str:
    return entry or "the outermost"
