"""Group the keys that two state dicts do not share by their common stem, and find what each group may correspond to."""

import heapq
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher

from gpudoctor.checkpoint.comparison.renaming import folded
from gpudoctor.facts.checkpoint_file import Key
from gpudoctor.facts.comparison import KeyGroup

MOST_GROUPS = 24
"""Groups that are told; stems are shortened until there are no more, and the smallest left out after that."""
CANDIDATES = 5
"""Keys of the other side that are compared with an example letter by letter."""
SIMILAR = 0.6
"""Least likeness of two names, from 0 to 1, that is worth a word."""
FIRST_NUMBER = re.compile(r"(?:(?!\d+(?:\.|$))[^.]+\.)+\d+(?![^.])")
WORD = re.compile(r"[a-z]+")


def group_keys(
    own_only: Sequence[str], other_only: Sequence[str], own: Mapping[str, Key], other: Mapping[str, Key]
) -> tuple[KeyGroup, ...]:
    """Return the keys that one side alone has as groups, the largest first.

    `own` and `other` give the tensors of both sides by name. A group counts both sides where both have keys with that
    stem and other numbers.
    """
    names = [*own_only, *other_only]
    kinds = dict(zip(names, folded(names), strict=True))
    stems = _stems(kinds)
    ours: dict[str, list[str]] = defaultdict(list)
    theirs: dict[str, list[str]] = defaultdict(list)
    for side, groups in ((own_only, ours), (other_only, theirs)):
        for name in side:
            groups[stems[name]].append(name)
    sizes = Counter({stem: len(names) for stem, names in ours.items()})
    sizes.update({stem: len(names) for stem, names in theirs.items()})
    told = [stem for stem, _ in sizes.most_common(MOST_GROUPS)]
    shelf, other_shelf = _Shelf(own_only, own, kinds), _Shelf(other_only, other, kinds)
    result = []
    for stem in told:
        example = (ours.get(stem) or theirs[stem])[0]
        mine, shelf_ = (own, other_shelf) if stem in ours else (other, shelf)
        nearest = shelf_.nearest(example, mine[example])
        key = shelf_.keys[nearest] if nearest else None
        group = KeyGroup(
            stem=stem, own=len(ours.get(stem, ())), other=len(theirs.get(stem, ())), example=example,
            nearest=nearest, same_shape=key is not None and key.shape == mine[example].shape,
        )  # fmt: skip
        result.append(group)
    return tuple(result)


def _stems(kinds: Mapping[str, str]) -> dict[str, str]:
    """Return the stem of each name: all of its components but the last where that gives few enough groups."""
    parts = {text: text.split(".") for text in dict.fromkeys(kinds.values())}
    stems = {text: ".".join(p[:-1]) or text for text, p in parts.items()}
    depth = min(8, max((len(p) for p in parts.values()), default=1) - 1)
    while depth > 1 and len(set(stems.values())) > MOST_GROUPS:
        depth -= 1
        stems = {text: ".".join(p[: min(depth, len(p) - 1)]) or text for text, p in parts.items()}
    return {name: stems[text] for name, text in kinds.items()}


class _Shelf:
    """The keys of one side that the other lacks, one of each folded name."""

    def __init__(self, names: Sequence[str], keys: Mapping[str, Key], kinds: Mapping[str, str]) -> None:
        self.keys = keys
        distinct: dict[str, str] = {}
        for name in names:
            distinct.setdefault(kinds[name], name)
        self.names = heapq.nsmallest(1000, distinct.values(), key=len)
        self.words = {name: set(WORD.findall(name.lower())) for name in self.names}

    def nearest(self, name: str, key: Key) -> str:
        """Return the key whose name is most like `name`, those of the same shape before others; empty: none is."""
        words = set(WORD.findall(name.lower()))

        def rough(candidate: str) -> tuple[bool, float]:
            both = words | self.words[candidate]
            alike = len(words & self.words[candidate]) / len(both) if both else 1.0
            return self.keys[candidate].shape == key.shape, alike

        def close(candidate: str) -> float:
            return SequenceMatcher(None, name[-200:], candidate[-200:], autojunk=False).ratio()

        def closest(candidate: str) -> float:
            return close(candidate) + (0.3 if self.keys[candidate].shape == key.shape else 0.0)

        by_shape = heapq.nlargest(CANDIDATES, self.names, key=rough)
        by_name = heapq.nlargest(CANDIDATES, self.names, key=lambda n: rough(n)[1])
        best = max(dict.fromkeys([*by_shape, *by_name]), key=closest, default="")
        return best if best and close(best) >= SIMILAR else ""


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
