"""Parts of a model that have another name on the other side, and the same contents."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise, product

from gpudoctor.checkpoint.naming import Step, replace_start
from gpudoctor.facts.checkpoint_file import Key

MOST = 8
"""Renamed parts that are told; where there are more, the models are simply different."""
LEAST = 50
"""A part of less than one in this many of the keys that differ explains nothing."""


def renamed_parts(
    own_only: Sequence[str], other_only: Sequence[str], own: Mapping[str, Key], other: Mapping[str, Key]
) -> list[tuple[Step, str]]:
    """Return the steps that give parts of the file their names in the target, each with why; to be tried in order."""
    words = [
        (Step(rf"(?<![^.]){re.escape(old)}\.", new.replace("\\", "\\\\") + "."), old, new)
        for old, new in _components(own_only, other_only, own, other)
    ]
    starts = [
        (replace_start(old, new), old[:-1], new[:-1])
        for old, new in _subtrees(own_only, other_only, own, other)
    ]
    return [(step, f"{old} in the file is {new} in the target") for step, old, new in [*words, *starts]]


def _components(
    own_only: Sequence[str], other_only: Sequence[str], own: Mapping[str, Key], other: Mapping[str, Key]
) -> Iterator[tuple[str, str]]:
    """Yield components that one side alone has, and the one of the other that stands in as many keys of such shapes."""
    if not own_only or not other_only:
        return
    ours, theirs = _count(own_only), _count(other_only)
    least = min(len(own_only), len(other_only)) / LEAST
    mine = [(word, n) for word, n in ours.most_common(100) if word not in theirs and n >= least]
    others = [(word, n) for word, n in theirs.most_common(100) if word not in ours and n >= least]
    pairs = [(a, b) for (a, n), (b, m) in product(mine, others) if n == m]
    for old, new in pairs[:MOST]:
        if _shapes(old, own_only, own) == _shapes(new, other_only, other):
            yield old, new


def _count(names: Iterable[str]) -> Counter[str]:
    """Return in how many names each component stands, numbers and the last ones left out."""
    counts: Counter[str] = Counter()
    for name in names:
        counts.update(set(name.split(".")[:-1]))
    return Counter({word: n for word, n in counts.items() if not word.isdigit() and word})


def _shapes(word: str, names: Sequence[str], keys: Mapping[str, Key]) -> list[tuple[int, ...]]:
    return sorted(keys[name].shape for name in names if f".{word}." in f".{name}")


def _subtrees(
    own_only: Sequence[str], other_only: Sequence[str], own: Mapping[str, Key], other: Mapping[str, Key]
) -> list[tuple[str, str]]:
    """Return beginnings under which both sides have the same names with the same shapes, where that is unambiguous."""
    ours, theirs = _branches(own_only, own), _branches(other_only, other)
    pairs: list[tuple[str, str]] = []
    least = min(len(own_only), len(other_only)) / LEAST
    for content, roots in ours.items():
        if content[0] < least:
            continue
        others = theirs.get(content, [])
        # The shortest beginning of a chain stands for it; two roots of the same content cannot be told apart.
        if _one_chain(roots) and _one_chain(others):
            pairs.append((min(roots, key=len), min(others, key=len)))
    pairs.sort(key=lambda pair: len(pair[0]))
    kept: list[tuple[str, str]] = []
    for old, new in pairs:
        if not any(old.startswith(a) for a, _ in kept):
            kept.append((old, new))
    return kept[:MOST]


def _branches(names: Sequence[str], keys: Mapping[str, Key]) -> dict[tuple[int, int], list[str]]:
    """Return, for the content of a branch (how many keys, a sum of their hashes), the beginnings that have it."""
    sums: dict[str, int] = defaultdict(int)
    counts: dict[str, int] = defaultdict(int)
    for name in names:
        shape, place = keys[name].shape, name.find(".")
        for _ in range(2):
            if place < 0:
                break
            root = name[: place + 1]
            sums[root] += hash((name[place + 1 :], shape))
            counts[root] += 1
            place = name.find(".", place + 1)
    found: dict[tuple[int, int], list[str]] = defaultdict(list)
    for root, total in sums.items():
        found[counts[root], total].append(root)
    return found


def _one_chain(roots: Sequence[str]) -> bool:
    """Tell whether each is the beginning of the next."""
    ordered = sorted(roots, key=len)
    return bool(ordered) and all(b.startswith(a) for a, b in pairwise(ordered))
