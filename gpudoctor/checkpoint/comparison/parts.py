"""Parts of a model that have another name on the other side: told by their names, or where the shapes leave one choice.

Two parts of the same shapes under names that say nothing cannot be told apart, and to guess would load wrong weights
without a word: such a rename is a guess, and no step is made of it.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence

from msgspec import Struct

from gpudoctor.checkpoint.comparison.renaming import Step, apply_all
from gpudoctor.checkpoint.comparison.words import contradict, pair_by_name
from gpudoctor.facts.checkpoint_file import Key

MOST = 12
"""Renamed parts that are told; where there are more, the models are simply different."""
GUESSES = 6
"""Guesses that are told."""
CHOICES = 50
"""Parts of the target that are looked at for each."""
DERIVED = re.compile(r"_(?:g|v|u|orig|mask|packed|scale|zero_point)$|^original\d*$|^q|^absmax|^SCB$|^lora_")
"""Tensors of which a weight is computed, or that go with one that is packed."""
HOW = {
    "name": "by its name",
    "shape": "by its shapes alone, which fit nothing else there",
    "order": "by its place in the order",
}

Path = tuple[str, ...]


class Parts(Struct):
    """What the trees of names of both sides come to."""

    steps: list[Step]
    likely: list[str]
    """Why, a sentence for each step."""
    words: list[str]
    """The same in a few words: ``fc is head``."""
    guesses: list[str]
    """Parts that may be one of several, a sentence each."""


class _Node:
    __slots__ = ("children", "differs", "key", "mark")

    def __init__(self) -> None:
        self.children: dict[str, _Node] = {}
        self.key: Key | None = None
        self.differs = False
        """Whether a name below is not on the other side."""
        self.mark: tuple[int, int] | None = None

    def content(self) -> tuple[int, int]:
        """Return what stands for the shapes below, whatever they are called: how many, and a sum of their hashes."""
        if self.mark is None:
            below = [child.content() for child in self.children.values()]
            own = (1, hash(self.key.shape)) if self.key is not None else (0, 0)
            self.mark = own[0] + sum(n for n, _ in below), own[1] + sum(total for _, total in below)
        return self.mark


class _Match(Struct):
    """Renames that are found, in the order in which they are done: what has been renamed has its new name in them."""

    pairs: list[tuple[Path, Path, str, bool]]
    """Old path, new path, how it was told, and whether it is a tensor."""
    guesses: list[str]


def renamed_parts(
    own_only: Sequence[str], other_only: Sequence[str], own: Mapping[str, Key], other: Mapping[str, Key]
) -> Parts:
    """Return the steps that give parts of the file their names in the target, to be taken all or none."""
    if not own_only or not other_only:
        return Parts([], [], [], [])
    found = _Match([], [])
    try:
        _match(_tree(own, own_only), _tree(other, other_only), (), found)
    except RecursionError:  # a name of a thousand components
        return Parts([], [], [], [])
    steps: dict[tuple[str, str], str] = {}
    words: list[str] = []
    for old, new, how, leaf in found.pairs:
        pattern = _pattern(old, new, leaf)
        if pattern not in steps:
            steps[pattern] = f"{_shown(old)} in the file is {_shown(new)} in the target, {HOW[how]}"
            words.append(f"{_shown(old)} is {_shown(new)}" + (" by its shapes" if how == "shape" else ""))
    guesses = list(dict.fromkeys(found.guesses))
    more = [f"and {len(guesses) - GUESSES} more such parts"] if len(guesses) > GUESSES else []
    if len(steps) > MOST:
        return Parts([], [], [], guesses[:GUESSES] + more)
    likely = list(dict.fromkeys(steps.values()))
    return Parts([Step(*pair) for pair in steps], likely, words, guesses[:GUESSES] + more)


def improve(steps: Sequence[Step], own: Mapping[str, Key], other: Mapping[str, Key]) -> list[str] | None:
    """Return the names after the steps if more of them are the target's and all can be told apart, else ``None``."""
    names = apply_all(steps, list(own))
    if len(set(names)) < len(names) or sum(n in other for n in names) <= sum(n in other for n in own):
        return None
    return names


def _tree(keys: Mapping[str, Key], alone: Sequence[str]) -> _Node:
    root = _Node()
    for name, key in keys.items():
        node = root
        for part in name.split("."):
            found = node.children.get(part)
            if found is None:
                found = node.children[part] = _Node()
            node = found
        node.key = key
    for name in alone:
        node = root
        for part in name.split("."):
            node = node.children[part]
            node.differs = True
    return root


def _match(a: _Node, b: _Node, to: Path, found: _Match) -> bool:
    """Find what the children of `a` are among those of `b`, whose path is `to`; tell whether all have been found."""
    whole = True
    moved = _in_order(a, b)
    for old, new in moved:
        if old != new:
            found.pairs.append(((*to, old), (*to, new), "order", False))
        whole = _match_inside(a.children[old], b.children[new], (*to, new), found) and whole
    done, taken = {old for old, _ in moved}, {new for _, new in moved}
    seen = set()
    for name, child in a.children.items():
        if name in done or not child.differs or name not in b.children:
            continue
        if name.isdecimal():  # one layer stands for all like it: patterns take any number for its own
            twin = b.children[name]
            like = (child.content(), twin.content(), *child.children, None, *twin.children)
            if like in seen:
                continue
            seen.add(like)
        if b.children[name].differs:
            whole = _match(child, b.children[name], (*to, name), found) and whole
    ours = [name for name in a.children if name not in b.children and name not in done]
    theirs = [name for name in b.children if name not in a.children and name not in taken]
    return _match_alone(a, b, (ours, theirs), to, found) and whole


def _in_order(a: _Node, b: _Node) -> list[tuple[str, str]]:
    """Return which number is which other one, where both sides have as many parts of the same shapes in that order."""
    ours, theirs = (sorted(filter(str.isdecimal, node.children), key=int) for node in (a, b))
    if ours == theirs or len(ours) != len(theirs):
        return []
    if any(a.children[i].content() != b.children[j].content() for i, j in zip(ours, theirs, strict=True)):
        return []
    if any(a.children[i].key or b.children[j].key for i, j in zip(ours, theirs, strict=True)):
        return []
    pairs = list(zip(ours, theirs, strict=True))
    # What moves up goes first from the end, what moves down from the beginning: none takes the place of another.
    up = [pair for pair in reversed(pairs) if int(pair[1]) > int(pair[0])]
    down = [pair for pair in pairs if int(pair[1]) <= int(pair[0])]
    return [*down, *up]


def _match_alone(a: _Node, b: _Node, names: tuple[list[str], list[str]], to: Path, found: _Match) -> bool:
    """Pair the children that one side alone has; tell whether each of the file's has found its place."""
    names = _without_derived(a, b, names)
    ours, theirs = _by_content(a, names[0]), _by_content(b, names[1])
    whole = all(content in theirs for content in ours)
    for content, mine in ours.items():
        others = theirs.get(content, [])
        if not others:
            continue
        pairs = [(x, y, "name") for x, y in pair_by_name(mine, others)]
        rest = [x for x in mine if x not in {p[0] for p in pairs}]
        left = [y for y in others if y not in {p[1] for p in pairs}]
        if len(rest) == len(left) == 1 and not contradict(rest[0], left[0]):
            pairs.append((rest[0], left[0], "shape"))
            rest = []
        elif rest and left:
            found.guesses += _guesses(rest, left, to)
        whole = whole and not rest
        for x, y, how in pairs:
            whole = _paired(a.children[x], b.children[y], ((*to, x), (*to, y)), how, found) and whole
    return whole


def _paired(x: _Node, y: _Node, paths: tuple[Path, Path], how: str, found: _Match) -> bool:
    """Keep a pair with what is inside of it, or, if the inside cannot be told apart, nothing but the guesses."""
    old, new = paths
    while x.key is None and len(x.children) == 1 and (below := next(iter(x.children.values()))).children:
        old, x = (*old, next(iter(x.children))), below
    while y.key is None and len(y.children) == 1 and (below := next(iter(y.children.values()))).children:
        new, y = (*new, next(iter(y.children))), below
    inside = _Match([], [])
    if (x.key is None) != (y.key is None):
        return False
    if x.key is None and not _match_inside(x, y, new, inside):
        found.guesses += inside.guesses
        return False
    while len(old) > len(paths[0]) and len(new) > len(paths[1]) and old[-1] == new[-1]:
        old, new = old[:-1], new[:-1]
    found.pairs += [(old, new, how, x.key is not None), *inside.pairs]
    return True


def _match_inside(x: _Node, y: _Node, new: Path, inside: _Match) -> bool:
    """Match the inside of a pair: everything in it must have its place, also what has the same name on both sides."""
    for node, other in ((x, y), (y, x)):
        for name, child in node.children.items():
            twin = other.children.get(name)
            if twin is not None and child.content() != twin.content() and not name.isdecimal():
                return False
            child.differs = True
    return _match(x, y, new, inside)


def _without_derived(a: _Node, b: _Node, names: tuple[list[str], list[str]]) -> tuple[list[str], list[str]]:
    """Leave out tensors of one module unless there are as many on both sides, and none is made of others.

    weight_v alone is not the weight, though it has its shape: weight_g belongs to it.
    """
    ours = [name for name in names[0] if a.children[name].key is not None]
    theirs = [name for name in names[1] if b.children[name].key is not None]
    if len(ours) == len(theirs) and not any(DERIVED.search(name) for name in (*ours, *theirs)):
        return names
    return [n for n in names[0] if n not in ours], [n for n in names[1] if n not in theirs]


def _by_content(node: _Node, names: Sequence[str]) -> dict[tuple[bool, int, int], list[str]]:
    found: dict[tuple[bool, int, int], list[str]] = defaultdict(list)
    for name in names:
        child = node.children[name]
        found[(child.key is not None, *child.content())].append(name)
    return found


def _pattern(old: Path, new: Path, leaf: bool) -> tuple[str, str]:
    """Return a pattern for names that begin with `old`, and its replacement; a number they share may be any number."""
    shared = 0
    while shared < min(len(old), len(new)) and old[shared] == new[shared]:
        shared += 1
    parts = [r"(\d+)" if part.isdecimal() and at < shared else re.escape(part) for at, part in enumerate(old)]
    count = 0
    into = []
    for at, part in enumerate(new):
        number = part.isdecimal() and at < shared
        count += number
        into.append(rf"\g<{count}>" if number else part.replace("\\", "\\\\"))
    end = ("$", "") if leaf else (r"\.", ".")
    return "^" + r"\.".join(parts) + end[0], ".".join(into) + end[1]


def _guesses(ours: Sequence[str], theirs: Sequence[str], to: Path) -> list[str]:
    """Say which of the target's each of the first parts may be; of thousands, a few stand for all."""
    guesses = []
    for x in ours[: GUESSES + 1]:
        ys = [y for y in theirs[:CHOICES] if not contradict(x, y)]
        if ys:
            either = _either(to, ys, len(theirs) - min(len(theirs), CHOICES))
            guesses.append(f"{_shown((*to, x))} may be {either} by its shapes; nothing says which")
    return guesses


def _either(to: Path, names: Sequence[str], more: int) -> str:
    more += max(0, len(names) - 4)
    shown = [_shown((*to, name)) for name in names[:4]]
    return " or ".join(shown) + (f" or {more} others" if more else "")


def _shown(path: Path) -> str:
    return ".".join(path)
