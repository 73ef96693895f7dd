"""Group the keys that two state dicts do not share by their common stem, and say in few words which keys they are."""

import difflib
import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from gpudoctor.checkpoint.comparison.alignment import Alignment, beginnings
from gpudoctor.checkpoint.comparison.renames import folded
from gpudoctor.facts.checkpoint_file import Key
from gpudoctor.facts.comparison import KeyGroup

MOST_GROUPS = 24
"""Groups that are told; stems are shortened until there are no more, and the smallest left out after that."""
SIMILAR = 0.6
"""Least likeness of two names, from 0 to 1, that is worth a word."""
FEW = 4
"""Globs that are told, and written, one after the other."""
COMPARED = 200
"""Keys of the other side that an example is compared with."""
FIRST_NUMBER = re.compile(r"(?:(?!\d+(?:\.|$))[^.]+\.)+\d+(?![^.])")


def group_keys(alignment: Alignment) -> tuple[KeyGroup, ...]:
    """Return the keys that one side alone has as groups, the largest first.

    A group counts both sides where both have keys with that stem and other numbers.
    """
    own_only, other_only = alignment.alone()
    stems = _stems([*own_only, *other_only])
    ours: dict[str, list[str]] = defaultdict(list)
    theirs: dict[str, list[str]] = defaultdict(list)
    for names, groups in ((own_only, ours), (other_only, theirs)):
        for name in names:
            groups[stems[name]].append(name)
    sizes = Counter(stems[name] for name in (*own_only, *other_only))
    shelf, other_shelf = _shelf(own_only), _shelf(other_only)
    result = []
    for stem, _ in sizes.most_common(MOST_GROUPS):
        example = (ours.get(stem) or theirs[stem])[0]
        mine, another = alignment.own, alignment.other
        if stem not in ours:
            mine, another = another, mine
        nearest = _nearest(example, mine[example], other_shelf if stem in ours else shelf, another)
        group = KeyGroup(
            stem=stem, own=len(ours.get(stem, ())), other=len(theirs.get(stem, ())), example=example,
            nearest=nearest, same_shape=bool(nearest) and another[nearest].shape == mine[example].shape,
        )  # fmt: skip
        result.append(group)
    return tuple(result)


def _stems(names: Sequence[str]) -> dict[str, str]:
    """Return the stem of each name: all of its components but the last where that gives few enough groups."""
    kinds = dict(zip(names, folded(names), strict=True))
    parts = {text: text.split(".") for text in dict.fromkeys(kinds.values())}
    stems = {text: ".".join(p[:-1]) or text for text, p in parts.items()}
    depth = min(8, max((len(p) for p in parts.values()), default=1) - 1)
    while depth > 1 and len(set(stems.values())) > MOST_GROUPS:
        depth -= 1
        stems = {text: ".".join(p[: min(depth, len(p) - 1)]) or text for text, p in parts.items()}
    return {name: stems[text] for name, text in kinds.items()}


def _shelf(names: Sequence[str]) -> list[str]:
    """Return one name of each kind, the shortest."""
    distinct = dict(zip(reversed(folded(names)), reversed(names), strict=True))
    return heapq.nsmallest(COMPARED, distinct.values(), key=len)


def _nearest(name: str, key: Key, shelf: Sequence[str], keys: Mapping[str, Key]) -> str:
    """Return the key whose name is most like `name`, those of the same shape before others; empty: none is."""
    same = [candidate for candidate in shelf if keys[candidate].shape == key.shape]
    for candidates in (same, shelf):
        if found := difflib.get_close_matches(name, candidates, 1, SIMILAR):
            return found[0]
    return ""


def depth_notes(own: Sequence[str], other: Sequence[str]) -> list[str]:
    """Say where one side has more layers of the same kind than the other."""
    ours, theirs = _layers(own), _layers(other)
    stems = [stem for stem in sorted(ours.keys() & theirs.keys()) if ours[stem] != theirs[stem]]
    return [
        f"another depth: {stem} counts {ours[stem]} in the file, {theirs[stem]} in the target"
        for stem in stems[:6]
    ]


def _layers(names: Sequence[str]) -> dict[str, int]:
    """Return how many different numbers follow each beginning."""
    places = {match[0] for name in names if (match := FIRST_NUMBER.match(name))}
    return Counter(place.rpartition(".")[0] for place in places)


def globs(names: Sequence[str], kept: Sequence[str]) -> list[str]:
    """Return few globs that mean `names` and none that is kept, and the names that have none.

    Beginnings such as ``neck.*`` come first; where they are many, an end or a component inside may do: ``*.lora_A.*``.
    """
    plain = _sharing(names, kept, _by_beginning)
    if len(plain) <= FEW:
        return plain
    short = _sharing(names, kept, _by_any_part)
    return short if len(short) < len(plain) else plain


def _sharing(
    names: Sequence[str], kept: Sequence[str], globs_of: Callable[[str], Iterable[str]]
) -> list[str]:
    """Return the globs that several names and none that is kept have, those of the most first, and the other names."""
    taken = {glob for name in kept for glob in globs_of(name)}
    members: dict[str, list[str]] = defaultdict(list)
    for name in names:
        for glob in globs_of(name):
            if glob not in taken:
                members[glob].append(name)
    found, rest = [], dict.fromkeys(names)
    for glob in sorted(members, key=lambda glob: -len(members[glob])):
        meant = [name for name in members[glob] if name in rest]
        if len(meant) > 1:
            found.append(glob)
            for name in meant:
                del rest[name]
    return [*found, *rest]


def _by_beginning(name: str) -> list[str]:
    return [f"{beginning}*" for beginning in beginnings(name)]


def _by_any_part(name: str) -> list[str]:
    """Return the globs of a name by its beginnings, by a component inside, and by its end."""
    parts = name.split(".")
    inside = dict.fromkeys(f"*.{part}.*" for part in parts[1:-1] if not part.isdecimal())
    ends = [f"*.{parts[-1]}"] if len(parts) > 1 else []
    if len(parts) > 2 and not parts[-2].isdecimal():
        ends.append(f"*.{parts[-2]}.{parts[-1]}")
    return [*_by_beginning(name), *inside, *ends]
