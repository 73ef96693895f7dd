"""Parts of a model that have another name on the other side, and the same names and shapes inside."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from gpudoctor.checkpoint.comparison.alignment import Alignment, common_beginning
from gpudoctor.checkpoint.comparison.renames import Step
from gpudoctor.facts.checkpoint_file import Key


def rename_parts(alignment: Alignment) -> Alignment:
    """Return the alignment with the target's names for parts that can be no other: ``backbone.`` for ``encoder.``.

    The names inside tell. A single layer has weight and bias like any other, and a sequence has numbers: these are
    never renamed.
    """
    own_only, other_only = alignment.alone()
    stem = common_beginning([*own_only, *other_only])
    ours, theirs = _parts(own_only, stem, alignment.own), _parts(other_only, stem, alignment.other)
    for inside, parts in ours.items():
        if len(parts) == len(theirs[inside]) == 1:
            old, new = parts[0], theirs[inside][0]
            step = Step("^" + re.escape(f"{old}."), f"{new}.".replace("\\", "\\\\"))
            after = alignment.renamed(step)
            if after is not alignment:
                alignment = replace(after, parts=(*after.parts, (old, new)))
    return alignment


def _parts(
    alone: Sequence[str], stem: str, keys: Mapping[str, Key]
) -> dict[frozenset[tuple[str, tuple[int, ...]]], list[str]]:
    """Return the parts below a stem by what is inside of them, where a name tells something there."""
    inside: dict[str, set[tuple[str, tuple[int, ...]]]] = defaultdict(set)
    for name in alone:
        part, _, rest = name[len(stem) :].partition(".")
        inside[stem + part].add((rest, keys[name].shape))
    found: dict[frozenset[tuple[str, tuple[int, ...]]], list[str]] = defaultdict(list)
    for part, members in inside.items():
        if any(not word.isdecimal() for rest, _ in members for word in rest.split(".")[:-1]):
            found[frozenset(members)].append(part)
    return found
