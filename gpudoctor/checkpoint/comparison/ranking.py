"""Choose among several state dicts of a file, and say which others would do as well."""

from collections.abc import Sequence

from msgspec.structs import replace

from gpudoctor.checkpoint.comparison.alignment import copy_rank
from gpudoctor.checkpoint.comparison.key_comparison import Draft
from gpudoctor.facts.checkpoint_file import CheckpointFile, StateDict
from gpudoctor.facts.comparison import Comparison, Outcome
from gpudoctor.text import listed

STATE_DICTS_MOST = 6
"""State dicts of one file that are compared, the largest."""


def largest(state_dicts: Sequence[StateDict]) -> list[StateDict]:
    """Return the largest state dicts of a file, in its order."""
    kept = sorted(state_dicts, key=lambda state: -len(state.keys))[:STATE_DICTS_MOST]
    return [state for state in state_dicts if state in kept]


def ranked(drafts: Sequence[Draft], file: CheckpointFile) -> list[Draft]:
    """Return the comparisons of a file's state dicts, the best first.

    What fits comes first: of that, state dicts before pickled modules, whose loading runs what is in the file; then
    what is called as the model itself is before EMA and other copies.
    """

    def key(found: Draft) -> tuple[object, ...]:
        entry = found.comparison.entry
        outcome, module = list(Outcome).index(found.comparison.outcome), file.is_module(entry)
        if found.fits:
            return (0, _poor(found), module, copy_rank(entry), outcome)
        return (1, outcome, -found.comparison.matched, module, copy_rank(entry))

    return sorted(drafts, key=key)


def with_others(best: Draft, drafts: Sequence[Draft], file: CheckpointFile) -> Comparison:
    """Return the best comparison, which says which other entries of the file fit as well, or that it fits best."""
    found = best.comparison
    if len(file.state_dicts) < 2:
        return found

    def alike(draft: Draft) -> tuple[bool, bool, bool]:
        return draft.fits, _poor(draft), file.is_module(draft.comparison.entry)

    equal = [draft for draft in drafts if best.fits and alike(draft) == alike(best)]
    entries = list(dict.fromkeys(d.comparison.entry or "the outermost" for d in (best, *equal)))
    if len(entries) == 1:
        note = f"of {len(file.state_dicts)} state dicts in the file, {entries[0]} matches best"
        return replace(found, notes=(*found.notes, note))
    own_name = copy_rank(found.entry) < min(copy_rank(entry) for entry in entries[1:])
    how = ", since that is what the model itself is mostly called" if own_name else ""
    select = [f"--select {entry}" for entry in entries[1:]] if "--select" in found.fix_line else entries[1:]
    note = (
        f"{len(entries)} state dicts of the file fit equally ({', '.join(entries)}): the lines take {entries[0]}{how}; "
        f"for another, put its name in the lines ({listed(select)})"
    )
    return replace(found, notes=(*found.notes, note), fits=tuple(entries))


def _poor(found: Draft) -> bool:
    """Return whether only a small part of what is in it is taken: a copy inside of something else."""
    return found.comparison.left_out > 3 * found.comparison.matched
