"""What a comparison comes to, in one sentence that names the cause first."""

import os.path
import re
from collections.abc import Sequence

from gpudoctor.checkpoint.comparison.differences import Differing
from gpudoctor.checkpoint.comparison.leaving import listed_kinds
from gpudoctor.checkpoint.comparison.renaming import Step
from gpudoctor.checkpoint.comparison.sides import Sides
from gpudoctor.facts.checkpoint_file import CheckpointFile, StateDict
from gpudoctor.text import count, listed

PART = re.compile(r"^(.*)-(\d{4,6})-of-(\d{4,6})(\.\w+)$")
"""What Hugging Face's libraries call the files of a set."""


def part_of_set(file: CheckpointFile | None) -> str:
    """Say that a file is one of a set, and what to give instead; empty where its name does not say so."""
    match = PART.match(os.path.basename(file.path)) if file is not None and file.kind != "sharded" else None
    if match is None or match[3].strip("0") in ("", "1"):
        return ""
    return (
        f"This file is part {int(match[2])} of {int(match[3])} of a set: give the folder or its index, "
        f"{match[1]}{match[4]}.index.json"
    )


def change_words(steps: Sequence[Step]) -> str:
    """Say what the steps do to the names."""
    words = []
    for step in steps:
        if step.strip:
            words.append(f'the prefix "{step.strip}" is taken off')
        elif step.add:
            words.append(f'"{step.add}" is put in front of the names')
        elif step.literal:
            words.append(f'"{step.literal}" is taken out of the names')
        else:
            words.append("parts are renamed")
    return " and ".join(dict.fromkeys(words))


def sentence(
    outcome: str, sides: Sides, found: Differing, own: StateDict, file: CheckpointFile | None, *, strict: bool
) -> str:
    """Return the outcome in one sentence."""
    if own.sharded:
        return f"The file has {own.sharded}: gather them before saving, for a whole state dict on one rank."
    if found.missing:
        return _lacking(sides, found, file)
    once = _once(sides, found)
    left = _left(sides, found)
    if outcome == "architecture" and found.shapes:
        number = count(len(found.shapes), "tensor")
        return _ended(
            f"Another architecture: {number} of the target's {len(sides.other)} have another shape", left
        )
    if outcome == "shape":
        number = "1 tensor has" if len(found.shapes) == 1 else f"{len(found.shapes)} tensors have"
        return _ended(f"The same {len(sides.other)} names{once}; {number} another shape", left)
    loose = "" if strict else " with strict=False"
    if found.adapters:
        start = f"Loads the base weights alone{once}{loose}"
    elif once:
        start = f"Loads{once}{loose}"
    elif left and strict:
        return _ended(f"Has all {count(len(sides.other), 'key')} of the target: loads once {left}")
    else:
        start = ("Loads with strict=False" if loose else "Loads as it is") + (
            " once that entry is taken out of the file" if own.entry else ""
        )
    number = count(len(found.counters), "counter")
    filled = f"torch fills in {number} of BatchNorm that it lacks" if found.counters and strict else ""
    return _ended(start, left, filled, "" if strict else _absent(found))


def _once(sides: Sides, found: Differing) -> str:
    """Say what is done to the names before they load, the renamed parts by name."""
    if not sides.expressed:
        return " once the target's wrappers are put into the names"
    prefixes = [step for step in sides.steps if step.strip or step.add or step.literal]
    words = [change_words(prefixes)] if prefixes else []
    if len(prefixes) < len(sides.steps):
        told = listed(found.words, 4)
        words.append(f"parts are renamed ({told})" if told else "names that a library changed are renamed")
    return f" once {' and '.join(words)}" if words else ""


def _ended(start: str, *more: str) -> str:
    return "; ".join([start, *(words for words in more if words)]) + "."


def _left(sides: Sides, found: Differing) -> str:
    """Say which keys of the file are left out."""
    inside = {name for names in found.dropped.values() for name in names} | {*found.extra}
    names = [*sides.left, *sides.originals(inside)]
    if not names:
        return ""
    kept = [before for before, name in zip(sides.before, sides.own, strict=True) if name not in inside]
    are = "is" if len(names) == 1 else "are"
    if len(found.adapters) == len(names):
        return f"{count(len(names), 'tensor')} of adapters (lora_A, lora_B and the like) {are} left out"
    lora = f", {len(found.adapters)} of them of LoRA adapters" if found.adapters else ""
    what = f"{count(len(names), 'key')} that the target does not have {are} left out"
    return f"{what}{lora} ({listed_kinds(names, kept)})"


def _absent(found: Differing) -> str:
    """Say what the file lacks without harm."""
    names = [*found.tied, *found.filled, *found.counters]
    first = next(iter(found.tied), "")
    same = f", which is the same parameter as {found.tied[first]}" if first and len(names) == 1 else ""
    return f"the file does not have {listed(names)}{same}"


def _lacking(sides: Sides, found: Differing, file: CheckpointFile | None) -> str:
    """Return the sentence for a target that needs what the file does not have."""
    total = count(len(sides.other), "key")
    if part := part_of_set(file):
        return f"{part}; it has {sides.matched()} of the target's {total}."
    if found.fused:
        return f"{found.fused}; the file lacks {len(found.missing)} of the target's {total}."
    if not sides.matched():
        return f"No name is the same: {count(len(sides.own), 'key')} in the file, {len(sides.other)} in the target."
    once = _once(sides, found)
    even = f"Even{once}, the" if once else "The"
    extra = len(found.extra) + len(sides.left)
    also = f", and has {count(extra, 'key')} that the target does not have" if extra else ""
    kinds = listed_kinds(found.missing, list(sides.other.keys() - set(found.missing)))
    return f"{even} file lacks {len(found.missing)} of the target's {total} ({kinds}){also}."
