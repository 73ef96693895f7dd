"""Compare the keys of a state dict with those of a model or of another checkpoint: does it load, and if not, why."""

import re
from collections.abc import Sequence
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.checkpoint.comparison.context import context_notes, refused
from gpudoctor.checkpoint.comparison.differences import Differing, differing, fitting, refuses_counters
from gpudoctor.checkpoint.comparison.fix_line import copy_path, fix_line
from gpudoctor.checkpoint.comparison.key_groups import depth_notes, group_keys
from gpudoctor.checkpoint.comparison.leaving import Leaving, leaving
from gpudoctor.checkpoint.comparison.load_line import distributed_line, in_order, load_line, state_expression
from gpudoctor.checkpoint.comparison.sentences import part_of_set, sentence
from gpudoctor.checkpoint.comparison.shape_reasons import OBJECT
from gpudoctor.checkpoint.comparison.sides import Sides, aligned
from gpudoctor.facts.checkpoint_file import CheckpointFile, Key, StateDict
from gpudoctor.facts.comparison import Comparison

Outcome = Literal["loads", "prefix", "shape", "architecture"]
SAME_ORDER = (
    "every tensor has the shape of the one at its place in the target, and no two have the same: the line loads by "
    "order alone, so check the result"
)
NO_ORDER = (
    "the same shapes in the same order, and several tensors of one shape: perhaps one model under two sets of names, "
    "but the shapes cannot tell which is which, and loading by order may mix them up"
)


class Draft(Struct):
    """A comparison before torch has been asked, and what its line gives to ``load_state_dict``."""

    comparison: Comparison
    state: StateDict
    given: list[tuple[str, str]]
    """Names in the file, and those that they are given under."""
    anew: bool
    """Whether the line makes a new dict, which has no versions of modules."""
    strict: bool = True

    @property
    def fits(self) -> bool:
        """Tell whether all that the target needs is loaded."""
        return self.comparison.outcome in ("loads", "prefix")


def compare(
    own: StateDict, other: Sequence[Key], file: CheckpointFile | None = None, target: str = "the model"
) -> Comparison:
    """Tell whether the state dict `own` loads into a module whose keys are `other`; nothing is opened or run.

    `file` is where `own` is from, for the lines that are offered; `target` says in words what `other` is. Of keys that
    bear one name, the last counts. 100,000 keys take about a second.
    """
    return draft(own, StateDict(entry="", keys=tuple(other)), file, target).comparison


def draft(own: StateDict, other: StateDict, file: CheckpointFile | None, target: str) -> Draft:
    """Compare two state dicts, and keep what a real model can be asked."""
    sides = aligned(own, other)
    alone, before = sides.alone(), dict(sides.own)
    found = differing(sides)
    changed = bool(sides.steps or sides.left or found.dropped or found.extra)
    strict = not (found.tied or found.filled or refuses_counters(found, own, changed=changed))
    outcome = "architecture" if own.sharded else _outcome(sides, found, strict=strict)
    lines = _Lines(sides, found, own, file, strict=strict)
    line, fix, notes = lines.offered()
    part = found.missing and part_of_set(file)
    comparison = Comparison(
        outcome=outcome, sentence=sentence(outcome, sides, found, own, file, strict=strict), shapes=found.shapes,
        likely=tuple(found.likely), guesses=tuple(found.guesses), load_line=line, fix_line=fix,
        left_out=len(lines.out), fits=sides.fits,
    )  # fmt: skip
    if any(alone) and not part:
        depths = depth_notes(list(sides.own), list(sides.other))
        comparison = replace(
            comparison, groups=group_keys(*alone, before, sides.other), notes=(*depths, *found.notes),
            drift=tuple(dict.fromkeys([*([found.fused] if found.fused else []), *found.drift])),
        )  # fmt: skip
    elif not part:
        comparison = replace(comparison, drift=tuple(dict.fromkeys(found.drift)))
    comparison = replace(comparison, notes=(*comparison.notes, *notes))
    note = "" if found.missing else _copy_note(comparison, own, file, lines)
    if note:
        comparison = replace(comparison, load_line="")
    result = _with_context(comparison, sides, own, file, target)
    if note:
        result = replace(result, notes=(*result.notes, note))
    return Draft(result, own, lines.given(), changed or bool(found.shapes), lines.strict)


def _outcome(sides: Sides, found: Differing, *, strict: bool) -> Outcome:
    if found.missing:
        return "architecture"
    if found.shapes:  # with many keys that the target does not have, it is another model
        return "architecture" if len(found.extra) * 4 > len(sides.other) else "shape"
    if found.renamed:
        return "architecture"
    if sides.steps or not sides.expressed:
        return "prefix"
    return "architecture" if found.extra or found.dropped or not strict else "loads"


class _Lines:
    """The lines that are offered, for what is left out."""

    def __init__(
        self, sides: Sides, found: Differing, own: StateDict, file: CheckpointFile | None, *, strict: bool
    ) -> None:
        self.sides, self.found, self.own, self.file, self.strict = sides, found, own, file, strict
        self.state = state_expression(file, own.entry)
        self.gone = {name for names in found.dropped.values() for name in names} | {*found.extra}
        self.out = [*sides.left, *sides.originals(self.gone)]
        """What the target has no place for, by the names in the file."""
        self.partial = False

    def given(self) -> list[tuple[str, str]]:
        """Return what the line gives, by the names in the file and those after it."""
        pairs = zip(self.sides.before, self.sides.own, strict=True)
        if not self.partial:
            differing = {difference.name for difference in self.found.shapes}
            return [(a, b) for a, b in pairs if b not in self.gone and b not in differing]
        fits = set(fitting(self.sides))
        return [(a, b) for a, b in pairs if b in fits]

    def offered(self) -> tuple[str, str, list[str]]:
        """Return the line of Python, the line that mends, and what there is to say of them."""
        if self.own.sharded:
            self.strict = False
            return "", "", []
        if self.found.missing:
            return self.partly()
        return self.without_shapes() if self.found.shapes else self.whole()

    def whole(self) -> tuple[str, str, list[str]]:
        """Return the lines where the target gets all that it needs."""
        if not self.sides.expressed:
            same = list(self.sides.own) == list(self.sides.other)
            return (in_order(self.state) if same else ""), "", []
        kept = self._kept(self.gone)
        ends = [text for end in self.found.dropped if re.fullmatch(r"[\w.]+", text := end.replace("\\", ""))]
        line = self._line(leaving(self.out, kept, only=self.sides.only, ends=ends))
        fix = fix_line(self.file, self.own.entry, self.sides.steps, self.out, kept)
        lacking = [*self.found.tied, *self.found.filled, *self.found.counters]
        if self.strict or not fix:
            return line, fix, []
        return line, fix, [f"the copy too is loaded with strict=False, for it lacks {', '.join(lacking[:3])}"]

    def without_shapes(self) -> tuple[str, str, list[str]]:
        """Return the lines that leave out the tensors of another shape; empty where nothing else is left."""
        differing = {difference.name for difference in self.found.shapes}
        kept = self._kept(self.gone | differing)
        self.strict = False
        if not kept or not self.sides.expressed:
            return "", "", []
        out = [*self.out, *self.sides.originals(differing)]
        line = self._line(leaving(out, kept, only=self.sides.only))
        if not self.sides.steps:
            return line, "", []
        fix = fix_line(self.file, self.own.entry, self.sides.steps, out, kept)
        note = "the copy leaves out the tensors of another shape, so it is loaded with strict=False"
        return line, fix, [note] if fix else []

    def partly(self) -> tuple[str, str, list[str]]:
        """Return the line that loads what agrees, and what there is to say of it."""
        self.strict = False
        self.partial = True
        if part_of_set(self.file):
            return "", "", []
        fits = len(fitting(self.sides))
        order = _same_order(self.sides)
        if order and fits * 2 < len(self.sides.own):
            if order == "told" and self.state:
                return in_order(self.state), "", [SAME_ORDER]
            if not fits:
                return "", "", [] if self.found.guesses else [NO_ORDER]
        if not fits or not self.sides.expressed:
            return "", "", [] if fits else ["nothing in the file fits the target"]
        total = len(self.sides.other)
        note = f"the line loads {fits} of the target's {total} tensors; the others keep what they were built with"
        return self._line(None), "", [note]

    def _line(self, words: Leaving | None) -> str:
        if self.file is not None and self.file.kind == "distributed":
            plain = self.strict and len(self.sides.steps) < 2 and all(step.strip for step in self.sides.steps)
            before = [self.own.entry] if self.own.entry else []
            prefix = ".".join(
                [*before, *(step.strip for step in self.sides.steps), *([""] if before else [])]
            )
            return distributed_line(self.file.path, prefix.replace("..", ".")) if plain else ""
        return load_line(
            self.state, self.sides.steps, self.sides.before, words, strict=self.strict,
            objects=bool(self.own.others),
        )  # fmt: skip

    def _kept(self, gone: set[str]) -> list[str]:
        return [a for a, b in zip(self.sides.before, self.sides.own, strict=True) if b not in gone]


def _copy_note(comparison: Comparison, own: StateDict, file: CheckpointFile | None, lines: _Lines) -> str:
    """Say how the mended copy is loaded of a file that torch refuses for what else it asks for; empty for others."""
    if not refused(file, own.entry) or not comparison.fix_line or not _leaves_out(file, own):
        return ""
    tail = "" if lines.strict else ", strict=False"
    copy = (
        f"model.load_state_dict(torch.load({copy_path(file)!r}, map_location='cpu', weights_only=True){tail})"
    )
    return f"the copy leaves that out; to load it: {copy}"


def _leaves_out(file: CheckpointFile | None, own: StateDict) -> bool:
    """Tell whether an entry is free of what the file asks for beyond tensors."""
    top = own.entry.partition(".")[0]
    held = [foreign.within for foreign in file.foreign] if file is not None else []
    if all(held):
        return all(top not in within and own.entry not in within for within in held)
    return bool(own.entry) and not own.others


def _same_order(sides: Sides) -> Literal["", "told", "untold"]:
    """Tell whether the shapes agree in order, and whether each stands for one tensor alone."""
    ours = [key.shape for key in sides.own.values()]
    if len(ours) < 2 or ours != [key.shape for key in sides.other.values()]:
        return ""
    return "told" if len(set(ours)) == len(ours) else "untold"


def _with_context(
    result: Comparison, sides: Sides, own: StateDict, file: CheckpointFile | None, target: str
) -> Comparison:
    steps = sides.steps if sides.expressed else []
    plain = all(step.strip or step.add for step in steps)
    return replace(
        result, path=file.path if file is not None else "", entry=own.entry, keys=len(own.keys), target=target,
        target_keys=sum(key.layout != OBJECT for key in sides.other.values()), matched=sides.matched(),
        strip=next((step.strip for step in steps if step.strip), ""),
        add=next((step.add for step in steps if step.add), ""),
        renames=() if plain else tuple((step.pattern, step.new) for step in steps),
        notes=(*result.notes, *context_notes(sides, own, file, result.load_line)),
    )  # fmt: skip
