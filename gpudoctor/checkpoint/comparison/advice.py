"""The lines that are offered for a comparison: what they give to ``load_state_dict``, and what there is to say."""

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.checkpoint.comparison.alignment import Alignment
from gpudoctor.checkpoint.comparison.differences import COUNTED, Differences, fitting
from gpudoctor.checkpoint.comparison.fix_line import copy_path, fix_line
from gpudoctor.checkpoint.comparison.sentences import part_of_set, refused
from gpudoctor.checkpoint.comparison.snippets import Taken, load_lines
from gpudoctor.facts.checkpoint_file import CheckpointFile, StateDict


class Advice(Struct, frozen=True):
    """The lines that are offered."""

    strict: bool
    """Whether they load with strict=True."""
    given: list[tuple[str, str]] = []
    """Names in the file, and those that ``load_state_dict`` is given them under."""
    anew: bool = False
    """Whether they make a new dict, which has no versions of modules."""
    out: list[str] = []
    """What the target has no place for, by the names in the file."""
    load_line: str = ""
    fix_line: str = ""
    notes: list[str] = []
    last: list[str] = []
    """Notes that come after those on the file."""


def advise(alignment: Alignment, differences: Differences, own: StateDict, file: CheckpointFile) -> Advice:
    """Return the lines for what differs; none of a part of something, or where nothing fits."""
    out = [*alignment.left, *alignment.originals(differences.unplaced)]
    fits = fitting(alignment)
    strict = differences.strict and not differences.missing and not differences.shapes
    taken: Taken = "shapes" if differences.shapes else "names" if differences.unplaced and strict else "all"
    names = {"shapes": {*fits}, "names": {*alignment.other}, "all": {*alignment.own}}[taken]
    pairs = zip(alignment.before, alignment.own, strict=True)
    bare = Advice(
        strict=strict and not own.sharded, given=[pair for pair in pairs if pair[1] in names], out=out,
        anew=bool(alignment.steps or alignment.wrappers or alignment.left) or taken != "all",
    )  # fmt: skip
    if own.sharded or (differences.missing and part_of_set(file)):
        return bare
    if not fits and alignment.other:
        return replace(bare, notes=["nothing in the file fits the target"] if differences.missing else [])
    lines = load_lines(file, own.entry, alignment, taken, strict=strict)
    if differences.missing:
        total = len(alignment.other)
        note = f"the lines load {len(fits)} of the target's {total} tensors; the others keep what they were built with"
        return replace(bare, load_line=lines, notes=[note])
    fix = _fix(alignment, differences, own, file, out)
    notes = [_loose_copy(differences, own)] if fix and _loose_copy(differences, own) else []
    if refused(file, own.entry) and fix and _leaves_out(file, own):
        return replace(bare, fix_line=fix, notes=notes, last=[_copy_note(file, strict=strict and not notes)])
    return replace(bare, load_line=lines, fix_line=fix, notes=notes)


def _fix(
    alignment: Alignment,
    differences: Differences,
    own: StateDict,
    file: CheckpointFile,
    out: list[str],
) -> str:
    """Return the line that mends the file; of one that has tensors of another shape, for its names alone."""
    if alignment.wrappers or (differences.shapes and not alignment.steps):
        return ""
    reshaped = {difference.name for difference in differences.shapes}
    kept = alignment.originals(alignment.own.keys() - differences.unplaced - reshaped)
    return fix_line(file, own.entry, alignment.steps, [*out, *alignment.originals(reshaped)], kept)


def _loose_copy(differences: Differences, own: StateDict) -> str:
    """Say why the copy needs strict=False; empty where it does not."""
    if differences.shapes:
        return "the copy leaves out the tensors of another shape, so it is loaded with strict=False"
    lacking = [*differences.tied, *differences.filled]
    # The copy keeps the versions of modules, by which torch expects counters; the lines of Python do not.
    if not differences.strict or max(own.versions.values(), default=0) >= COUNTED:
        lacking += differences.counters
    if not lacking:
        return ""
    return f"the copy too is loaded with strict=False, for it lacks {', '.join(lacking[:3])}"


def _copy_note(file: CheckpointFile, *, strict: bool) -> str:
    """Say how the mended copy is loaded of a file that torch refuses for what else it asks for."""
    tail = "" if strict else ", strict=False"
    load = f"torch.load({copy_path(file)!r}, map_location='cpu', weights_only=True)"
    return f"the copy leaves that out; to load it: model.load_state_dict({load}{tail})"


def _leaves_out(file: CheckpointFile, own: StateDict) -> bool:
    """Return whether an entry is free of what the file asks for beyond tensors."""
    top = own.entry.partition(".")[0]
    held = [foreign.within for foreign in file.foreign]
    if all(held):
        return all(top not in within and own.entry not in within for within in held)
    return bool(own.entry) and not own.others
