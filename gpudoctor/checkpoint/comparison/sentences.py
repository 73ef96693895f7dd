"""What a comparison comes to: one sentence that names the cause first, and notes on the file and the names."""

import os.path
import re
from collections.abc import Sequence

from gpudoctor.checkpoint.comparison.alignment import Alignment
from gpudoctor.checkpoint.comparison.differences import Differences
from gpudoctor.checkpoint.comparison.key_groups import globs
from gpudoctor.checkpoint.comparison.renames import Step
from gpudoctor.checkpoint.comparison.snippets import OPENED_BY_TORCH
from gpudoctor.facts.checkpoint_file import CheckpointFile, Format, StateDict
from gpudoctor.facts.comparison import Outcome
from gpudoctor.text import count, listed

PART = re.compile(r"^(.*)-(\d{4,6})-of-(\d{4,6})(\.\w+)$")
"""What Hugging Face's libraries call the files of a set."""


def part_of_set(file: CheckpointFile) -> str:
    """Say that a file is one of a set, and what to give instead; empty where its name does not say so."""
    match = PART.match(os.path.basename(file.path))
    if match is None or file.kind == Format.SHARDED or match[3].strip("0") in ("", "1"):
        return ""
    return (
        f"This file is part {int(match[2])} of {int(match[3])} of a set: give the folder or its index, "
        f"{match[1]}{match[4]}.index.json"
    )


def refused(file: CheckpointFile, entry: str) -> bool:
    """Return whether ``torch.load(weights_only=True)`` refuses a file for what else is in it."""
    return file.kind in OPENED_BY_TORCH and bool(file.foreign) and not file.is_module(entry)


def sentence(
    outcome: Outcome,
    alignment: Alignment,
    differences: Differences,
    own: StateDict,
    file: CheckpointFile,
) -> str:
    """Return the outcome in one sentence."""
    if own.sharded:
        return f"The file has {own.sharded}: gather them before saving, for a whole state dict on one rank."
    if differences.missing:
        return _lacking(alignment, differences, file)
    if differences.shapes:
        return _reshaped(outcome, alignment, differences)
    once, left, strict = _changes(alignment), _left(alignment, differences), differences.strict
    loose = "" if strict else " with strict=False"
    if differences.adapters:
        start = f"Loads the base weights alone{once}{loose}"
    elif once:
        start = f"Loads{once}{loose}"
    elif left and strict:
        return f"Has all {count(len(alignment.other), 'key')} of the target: loads once {left}."
    else:
        out = " once that entry is taken out of the file" if own.entry else ""
        start = f"Loads{loose or ' as it is'}{out}"
    number = count(len(differences.counters), "counter")
    filled = f"torch fills in {number} of BatchNorm that it lacks" if differences.counters and strict else ""
    return _ended(start, left, filled, "" if strict else _absent(differences))


def _reshaped(outcome: Outcome, alignment: Alignment, differences: Differences) -> str:
    """Return the sentence for tensors of another shape."""
    left, total = _left(alignment, differences), len(alignment.other)
    number = count(len(differences.shapes), "tensor")
    if outcome is Outcome.ARCHITECTURE:
        return _ended(f"Another architecture: {number} of the target's {total} have another shape", left)
    have = "has" if len(differences.shapes) == 1 else "have"
    return _ended(f"The same {total} names{_changes(alignment)}; {number} {have} another shape", left)


def _changes(alignment: Alignment) -> str:
    """Say what is done to the names before they load, the renamed parts by name."""
    words = [_change(step) for step in alignment.steps if step.strip or step.add or step.component]
    if alignment.wrappers:
        words.append("the target's wrappers are put into the names")
    if alignment.parts:
        parts = [f"{old} is {new}" for old, new in alignment.parts]
        words.append(f"parts are renamed ({listed(parts, 4)})")
    if alignment.drift:
        words.append("names that a library changed are renamed")
    return f" once {' and '.join(dict.fromkeys(words))}" if words else ""


def _change(step: Step) -> str:
    if step.strip:
        return f'the prefix "{step.strip}" is taken off'
    if step.add:
        return f'"{step.add}" is put in front of the names'
    return f'"{step.component}" is taken out of the names'


def _ended(start: str, *more: str) -> str:
    return "; ".join([start, *(words for words in more if words)]) + "."


def _left(alignment: Alignment, differences: Differences) -> str:
    """Say which keys of the file are left out."""
    unplaced = differences.unplaced
    names = [*alignment.left, *alignment.originals(unplaced)]
    if not names:
        return ""
    are = "is" if len(names) == 1 else "are"
    adapters = len(differences.adapters)
    if adapters == len(names):
        return f"{count(len(names), 'tensor')} of adapters (lora_A, lora_B and the like) {are} left out"
    lora = f", {adapters} of them of LoRA adapters" if adapters else ""
    what = f"{count(len(names), 'key')} that the target does not have {are} left out"
    kept = alignment.originals(alignment.own.keys() - unplaced)
    return f"{what}{lora} ({listed(globs(names, kept))})"


def _absent(differences: Differences) -> str:
    """Say what the file lacks without harm."""
    names = differences.lacking
    first = next(iter(differences.tied), "")
    same = f", which is the same parameter as {differences.tied[first]}" if first and len(names) == 1 else ""
    return f"the file does not have {listed(names)}{same}"


def _lacking(alignment: Alignment, differences: Differences, file: CheckpointFile) -> str:
    """Return the sentence for a target that needs what the file does not have."""
    total = count(len(alignment.other), "key")
    missing = differences.missing
    if part := part_of_set(file):
        return f"{part}; it has {alignment.matched()} of the target's {total}."
    if differences.fused:
        return f"{differences.fused}; the file lacks {len(missing)} of the target's {total}."
    if not alignment.matched():
        number = count(len(alignment.own), "key")
        return f"No name is the same: {number} in the file, {len(alignment.other)} in the target."
    once = _changes(alignment)
    even = f"Even{once}, the" if once else "The"
    extra = len(differences.extra) + len(alignment.left)
    also = f", and has {count(extra, 'key')} that the target does not have" if extra else ""
    kinds = listed(globs(missing, list(alignment.other.keys() - {*missing})))
    return f"{even} file lacks {len(missing)} of the target's {total} ({kinds}){also}."


def notes_on(alignment: Alignment, own: StateDict, file: CheckpointFile, load_line: str) -> list[str]:
    """Return the notes: which of several prefixes, other element types, what else is in the file, trust."""
    notes = [*_which(alignment), *_types(alignment)]
    if own.entry and not file.is_module(own.entry):
        notes.append(
            f"the file is a whole checkpoint: its state dict is the entry {own.entry}; "
            "load_state_dict must be given that, not the whole"
        )
    if file.kind == Format.DISTRIBUTED:
        notes.append(
            "a distributed checkpoint is read into the model where it is; python -m "
            "torch.distributed.checkpoint.format_utils dcp_to_torch FOLDER FILE makes one file of it, which "
            "gpudoctor checkpoint fix mends"
        )
    if file.is_module(own.entry):
        notes.append(
            "the file holds a whole pickled module: the lines need its classes, and run what is in the file; "
            "only for a file whose origin you trust"
        )
    elif refused(file, own.entry):
        notes.append(
            f"torch.load(weights_only=True) refuses this file, for it asks for {file.foreign[0].name}"
        )
        if "weights_only=False" in load_line:
            notes.append("weights_only=False runs what is in the file: only if you trust its origin")
    return notes


def _which(alignment: Alignment) -> Sequence[str]:
    """Say which of several prefixes that fit is taken."""
    if not alignment.fits:
        return []
    taken, *others = (f'"{text}"' if text else "the names without a prefix" for text in alignment.fits)
    said = f"{len(alignment.fits)} prefixes fit equally: the lines take {taken}"
    return [f"{said}; put {listed(others, 4)} in its place to have that one"]


def _types(alignment: Alignment) -> list[str]:
    other = alignment.other
    pairs = {(key.dtype, other[name].dtype) for name, key in alignment.own.items() if name in other}
    changed = sorted(pair for pair in pairs if pair[0] != pair[1] and all(pair))
    if not changed:
        return []
    kinds = ", ".join(f"{a} in the file, {b} in the target" for a, b in changed[:3])
    return [f"other element types ({kinds}): load_state_dict converts them"]
