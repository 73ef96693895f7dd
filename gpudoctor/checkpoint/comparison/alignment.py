"""Find the prefix, or the wrappers' components, by which the names of two state dicts differ."""

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence

from msgspec import Struct

from gpudoctor.checkpoint.comparison.renaming import (
    Step,
    add,
    apply_all,
    drop_component,
    insertions,
    strip,
    trim_common,
    wrappers,
)

SAMPLE = 1000
"""Names of each side that candidates are judged by at first."""
DEEPEST = 12
"""Components of a prefix that are tried."""
FINALISTS = 4


class Alignment(Struct, frozen=True):
    """What makes the most names of one side those of the other."""

    names: list[str]
    """The own names, in their order, after the change."""
    matched: int
    """How many of them the other side has."""
    steps: tuple[Step, ...] = ()
    """The change; empty where the names are best left alone."""
    expressed: bool = True
    """Whether the steps lead to the names; not where the other side is wrapped in more places than can be told."""


def align(own: Sequence[str], other: Sequence[str]) -> Alignment:
    """Return the change of prefix after which most names of `own` are names of `other`.

    Both are names without repetition. A prefix is whole components: ``module.``, ``model.encoder.``. Takes about half
    a second for 100,000 names.
    """
    theirs = set(other)
    plain = Alignment(list(own), sum(name in theirs for name in own))
    if plain.matched == len(own) == len(other):
        return plain
    best = _prefixed(own, other)
    if best.matched < len(own) or best.matched < len(other):
        best = max([best, *_unwrapped(own, other)], key=lambda alignment: alignment.matched)
    # A few names that fit by chance are no reason to call it a prefix.
    if best.matched <= plain.matched or best.matched * 2 < min(len(own), len(other)):
        return plain
    return best


def _prefixed(own: Sequence[str], other: Sequence[str]) -> Alignment:
    """Return the best of: one prefix taken off the own names, another put in front of them."""
    theirs = set(other)
    sample = _sample(own)
    scores = {
        pair: sum((pair[1] + name.removeprefix(pair[0])) in theirs for name in sample)
        for pair in dict.fromkeys(_candidates(own, other))
    }
    simple = {pair: (score, -len(pair[0]) - len(pair[1])) for pair, score in scores.items()}
    best = Alignment(list(own), -1)
    for taken, put in heapq.nlargest(FINALISTS, simple, key=simple.__getitem__):
        names = [put + name.removeprefix(taken) for name in own]
        matched = len(theirs.intersection(names))
        whole = matched == len(own) == len(other)
        if taken and put and taken != put and not whole:
            continue  # a part that is called otherwise, and no wrapper
        if matched > best.matched and len(set(names)) == len(names):
            steps = [step(text) for step, text in ((strip, taken), (add, put)) if text]
            best = Alignment(names, matched, tuple(steps))
    return best if best.matched >= 0 else Alignment(list(own), sum(name in theirs for name in own))


def _candidates(own: Sequence[str], other: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield prefixes to take off and to put in front that may be it."""
    yield "", ""
    first, second = _common(own), _common(other)
    taken, put = trim_common(first.split(".")[:-1], second.split(".")[:-1])
    yield _text(taken), _text(put)
    ours, theirs = set(own), set(other)
    some, others = _sample(own), _sample(other)
    votes: Counter[tuple[str, str]] = Counter()
    for name in some:
        if name not in theirs:
            votes.update((prefix, "") for prefix in _beginnings(name) if name[len(prefix) :] in theirs)
    for name in others:
        if name not in ours:
            votes.update(("", prefix) for prefix in _beginnings(name) if name[len(prefix) :] in ours)
    for (taken_, put_), _ in votes.most_common(10):
        yield taken_, put_
        if put_:
            yield put_, put_  # some of the own names have it already
    majority = list(_majority(others))
    for prefix in _majority(some):
        for another in majority:
            yield prefix, another


def _common(names: Sequence[str]) -> str:
    """Return the components with which all names begin, with the dot after them; the last component is never one."""
    if not names:
        return ""
    first, last = min(names), max(names)  # whatever these two begin with, all others do
    end = next(
        (n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last))
    )
    return first[: first.rfind(".", 0, end) + 1]


def _majority(names: Sequence[str]) -> Iterator[str]:
    """Yield the beginnings that at least half of the names have, and the empty one."""
    yield ""
    counts = Counter(prefix for name in names for prefix in _beginnings(name, 4))
    for prefix, count in counts.most_common(6):
        if count * 2 >= len(names):
            yield prefix


def _beginnings(name: str, most: int = DEEPEST) -> Iterator[str]:
    place = name.find(".")
    while place >= 0 and most > 0:
        yield name[: place + 1]
        place, most = name.find(".", place + 1), most - 1


def _text(components: list[str]) -> str:
    return "".join(component + "." for component in components)


def _sample(names: Sequence[str]) -> Sequence[str]:
    return names[:: -(-len(names) // SAMPLE)] if names else names


def _unwrapped(own: Sequence[str], other: Sequence[str]) -> Iterator[Alignment]:
    """Yield what comes of disregarding wrappers' components wherever they stand."""
    ours, theirs = wrappers(own), wrappers(other)
    tried = [(ours - theirs, theirs - ours), (ours, theirs)]
    for drop, insert in tried if tried[0] != tried[1] else tried[:1]:
        if not drop and not insert:
            continue
        drops = [drop_component(component) for component in sorted(drop)]
        bare = apply_all(drops, own)
        bare_other = apply_all([drop_component(component) for component in sorted(insert)], other)
        if len(set(bare)) < len(own) or len(set(bare_other)) < len(other):
            continue
        found = _prefixed(bare, bare_other)
        wrapped = dict(zip(bare_other, other, strict=True))
        pairs = [(name, wrapped[name]) for name in found.names if name in wrapped]
        names = [wrapped.get(name, name) for name in found.names]
        put = insertions([pair[0] for pair in pairs], [pair[1] for pair in pairs])
        steps = (*drops, *found.steps, *(put or ()))
        yield Alignment(names, found.matched, steps, put is not None and apply_all(steps, own) == names)
