"""Compare the keys of a state dict with those of a model or of another checkpoint: does it load, and if not, why."""

from collections.abc import Sequence

from msgspec import Struct

from gpudoctor.checkpoint.comparison.advice import Advice, advise
from gpudoctor.checkpoint.comparison.alignment import Alignment, align_prefix, by_name
from gpudoctor.checkpoint.comparison.differences import Differences, classify, judge
from gpudoctor.checkpoint.comparison.key_groups import depth_notes, group_keys
from gpudoctor.checkpoint.comparison.library_changes import BASE_LAYER, follow
from gpudoctor.checkpoint.comparison.part_names import rename_parts
from gpudoctor.checkpoint.comparison.sentences import notes_on, part_of_set, sentence
from gpudoctor.checkpoint.comparison.shapes import OBJECT
from gpudoctor.facts.checkpoint_file import CheckpointFile, Format, StateDict
from gpudoctor.facts.comparison import Comparison, Outcome

NAMELESS = CheckpointFile(path="checkpoint.pt", kind=Format.TORCH_ZIP)
"""What the lines name where keys alone are compared."""


class Draft(Struct, frozen=True):
    """A comparison before torch has been asked, and what its lines give to ``load_state_dict``."""

    comparison: Comparison
    state: StateDict
    advice: Advice

    @property
    def fits(self) -> bool:
        """Return whether all that the target needs is loaded."""
        return self.comparison.outcome in (Outcome.LOADS, Outcome.PREFIX)


def compare_keys(
    own: StateDict, other: StateDict, file: CheckpointFile = NAMELESS, target: str = "the model"
) -> Draft:
    """Compare the keys of the state dict `own` with those of `other`; nothing is opened or run.

    `file` is where `own` is from, for the lines that are offered; `target` says in words what `other` is. Of keys that
    bear one name, the last counts. 100,000 keys take a second, or a few where much differs.
    """
    alignment = align(own, other)
    differences = classify(alignment, own)
    outcome = judge(alignment, differences, own)
    advice = advise(alignment, differences, own, file)
    steps = alignment.steps if not alignment.wrappers else ()
    plain = all(step.strip or step.add for step in steps)
    alone = any(alignment.alone()) and not (differences.missing and part_of_set(file))
    comparison = Comparison(
        outcome=outcome, sentence=sentence(outcome, alignment, differences, own, file), entry=own.entry,
        path=file.path, keys=len(own.keys), target=target,
        target_keys=sum(key.layout != OBJECT for key in alignment.other.values()), matched=alignment.matched(),
        strip=next((step.strip for step in steps if step.strip), ""),
        add=next((step.add for step in steps if step.add), ""),
        renames=() if plain else tuple((step.pattern, step.new) for step in steps),
        shapes=differences.shapes, groups=group_keys(alignment) if alone else (), left_out=len(advice.out),
        drift=_drift(alignment, differences, file), fits=alignment.fits,
        likely=tuple(f"{old} in the file is {new} in the target" for old, new in alignment.parts),
        notes=(*_names(alignment, differences, alone=alone), *advice.notes,
               *notes_on(alignment, own, file, advice.load_line), *advice.last),
        load_line=advice.load_line, fix_line=advice.fix_line,
    )  # fmt: skip
    return Draft(comparison, own, advice)


def align(own: StateDict, other: StateDict) -> Alignment:
    """Return both sides with the names of the file changed as they are known to: prefixes, libraries, parts."""
    return rename_parts(follow(align_prefix(by_name(own), by_name(other))))


def _drift(alignment: Alignment, differences: Differences, file: CheckpointFile) -> tuple[str, ...]:
    """Say which changes of libraries explain what differs; nothing of a file that is but a part of a set."""
    if differences.missing and part_of_set(file):
        return ()
    adapted = [BASE_LAYER] if alignment.adapted else []
    fused = [differences.fused] if differences.fused else []
    return tuple(dict.fromkeys([*fused, *adapted, *alignment.drift, *differences.drift]))


def _names(alignment: Alignment, differences: Differences, *, alone: bool) -> Sequence[str]:
    """Return the notes on names that one side alone has."""
    if not alone:
        return []
    tied = [differences.maybe_tied] if differences.maybe_tied else []
    return [*depth_notes(list(alignment.own), list(alignment.other)), *tied]
