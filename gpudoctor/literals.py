"""The literals that a line must hold to match a symptom's pattern, and the lines of a text that hold one.

Searching for a thousand literals at once costs one pass over the text; the patterns run on the few lines that are left.
"""

import functools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import ahocorasick_rs

try:
    from re import _constants as sre  # type: ignore[attr-defined]
    from re import _parser as parser  # type: ignore[attr-defined]
except ImportError:  # Python 3.10
    import sre_constants as sre
    import sre_parse as parser

SHORTEST = 4
"""Bytes: a shorter literal stands in every other line."""
MOST = 64
"""Alternatives that a pattern may have; beyond that, its parts are too vague to search for."""
RARE = 24
"""Characters that make a text rare enough; a long log is searched for so much of each."""
PASTE = 1 << 16
"""Bytes of text up to which an automaton of those literals whose beginnings stand in it is made faster than of all."""
BIG = 1 << 20
"""Bytes of text from which on the larger and faster automaton pays for its construction."""


class Vague(ValueError):
    """A pattern has no literal part that every match must hold."""


def literals(pattern: str) -> frozenset[str]:
    """Return texts of which every match of a pattern holds at least one; raises `Vague` where there are none."""
    tree = parser.parse(pattern)
    if tree.state.flags & re.IGNORECASE or "(?i" in pattern:
        raise Vague(f"{pattern!r} ignores case: write [Ee]rror where both are seen")
    found = _best(_required(tree))
    if found is None:
        raise Vague(f"{pattern!r} holds no literal of {SHORTEST} characters or more")
    return found


Alternatives = frozenset[str]


def _best(candidates: Iterable[Alternatives]) -> Alternatives | None:
    """Choose the alternatives whose shortest text is longest: the rarest in a log."""
    good = [c for c in candidates if c and min(map(_size, c)) >= SHORTEST and len(c) <= MOST]
    return max(good, key=lambda c: (not any(map(_common, c)), min(RARE, *map(len, c)), -len(c)), default=None)


def _size(text: str) -> int:
    """Return how many bytes a text has: two signs of Chinese are as rare as a word."""
    return len(text.encode())


def _common(text: str) -> bool:
    """Return whether a text stands in many a log: the folder of torch in every traceback, the loss in every line."""
    return ("packages" in text and "torch" in text) or text in ("torch", "loss", "loss ")


def _required(tree: Any) -> list[Alternatives]:
    """Return sets of texts; of each set, every match of a parsed pattern holds one."""
    found: list[Alternatives] = []
    exact: Alternatives | None = frozenset({""})  # what has been read since the last gap, all its spellings
    for part in tree:
        here = _exact(part)
        if here is not None and exact is not None and len(exact) * len(here) <= MOST:
            exact = frozenset(a + b for a in exact for b in here)
            continue
        if exact:
            found.append(exact)
        exact = here if here is not None else frozenset({""})
        found += _inside(part)
    return [*found, exact] if exact else found


def _exact(part: tuple[Any, Any]) -> Alternatives | None:
    """Return all texts that one part of a pattern can match, or ``None`` where they are too many to tell."""
    kind, value = part
    if kind is sre.LITERAL:
        return frozenset({chr(value)})
    if kind is sre.AT or kind is sre.ASSERT_NOT or kind is sre.ASSERT:
        return frozenset({""})
    if kind is sre.IN and value and all(item[0] is sre.LITERAL for item in value) and len(value) <= 4:
        return frozenset(chr(item[1]) for item in value)
    if kind is sre.SUBPATTERN:
        return _sequence(value[3])
    if kind is sre.BRANCH:
        union = _union(map(_sequence, value[1]))
        return union if union is not None and len(union) <= MOST else None
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT) and value[0] == 0 and value[1] == 1:
        inside = _sequence(value[2])
        return None if inside is None else inside | {""}
    return None


def _sequence(tree: Any) -> Alternatives | None:
    """Return all texts that a sequence can match, or ``None``."""
    texts: Alternatives = frozenset({""})
    for part in tree:
        here = _exact(part)
        if here is None or len(texts) * len(here) > MOST:
            return None
        texts = frozenset(a + b for a in texts for b in here)
    return texts


def _inside(part: tuple[Any, Any]) -> list[Alternatives]:
    """Return what is required inside a part that cannot be spelt out."""
    kind, value = part
    if kind is sre.SUBPATTERN:
        return _required(value[3])
    if kind in (sre.MAX_REPEAT, sre.MIN_REPEAT) and value[0] >= 1:
        return _required(value[2])
    if kind is sre.BRANCH:
        union = _union(_best(_required(side)) for side in value[1])
        return [] if union is None else [union]
    return []


def _union(sides: Iterable[Alternatives | None]) -> Alternatives | None:
    """Return the texts of all sides of a branch, or ``None`` where those of one cannot be told."""
    known = list(sides)
    return None if None in known else frozenset().union(*(side or () for side in known))


NEVER = b"\0gpudoctor\0"
"""What no text holds."""


class Hit(NamedTuple):
    """A literal in a text."""

    start: int
    end: int
    owners: tuple[Any, ...]
    """Whose literal it is."""


class Finder:
    """Finds many literals at once; each belongs to one or several owners, which may be anything."""

    def __init__(self, owned: Iterable[tuple[str, Any]]) -> None:
        """Take pairs of a literal and its owner."""
        owners: dict[bytes, list[Any]] = {}
        for text, owner in owned:
            owners.setdefault(text.encode(), []).append(owner)
        self.texts = list(owners)
        """The literals, as bytes."""
        self._owners = [tuple(o) for o in owners.values()]

    def owned(self) -> Iterable[tuple[str, Any]]:
        """Yield each literal with each of its owners."""
        for text, owners in zip(self.texts, self._owners, strict=True):
            for owner in owners:
                yield text.decode(), owner

    def find(self, data: bytes) -> list[tuple[int, int, int]]:
        """Return number, start and end of each literal in `data`, in order and without overlaps.

        A long text is searched for those of ASCII alone: the table for that has a row for each of its states, and the
        signs of other languages would make each twice as long, 50 MB more. What shells and people say in theirs stands
        where a log begins or ends, and that is kept.
        """
        return (self._fast if len(data) >= BIG else self._small).find_matches_as_indexes(data)

    def release(self) -> None:
        """Give back what a long text was searched with, some 30 MB for all checks; the next one has it made anew."""
        self.__dict__.pop("_fast", None)

    @functools.cached_property
    def lowered(self) -> "Finder":
        """The same literals in small letters, for text that is in small letters."""
        return Finder((text.lower(), owner) for text, owner in self.owned())

    def hits(self, data: bytes) -> Iterable[Hit]:
        """Yield each literal in `data`, those that overlap too."""
        numbers: Sequence[int] = range(len(self.texts))
        if len(data) < PASTE and "_small" not in self.__dict__:
            begun = {data[place : place + SHORTEST] for place in range(len(data))}
            numbers = [n for n, t in enumerate(self.texts) if t[:SHORTEST] in begun or len(t) < SHORTEST]
            texts = [self.texts[number] for number in numbers]
            automaton = self._automaton(ahocorasick_rs.Implementation.ContiguousNFA, texts)
        else:
            automaton = self._small
        for number, start, end in automaton.find_matches_as_indexes(data, overlapping=True):
            yield Hit(start, end, self._owners[numbers[number]])

    def begun(self, text: str, least: int) -> Iterator[tuple[Any, ...]]:
        """Yield the owners of the literals of which `text` ends in a proper beginning of at least so many bytes."""
        end = text.encode()[-max(map(len, self.texts), default=0) :]
        for literal, owners in zip(self.texts, self._owners, strict=True):
            at = end.rfind(literal[:least]) if len(literal) > least else -1
            if at >= 0 and literal.startswith(end[at:]):
                yield owners

    @functools.cached_property
    def _small(self) -> ahocorasick_rs.BytesAhoCorasick:
        return self._automaton(ahocorasick_rs.Implementation.ContiguousNFA, self.texts)

    @functools.cached_property
    def _fast(self) -> ahocorasick_rs.BytesAhoCorasick:
        # The whole of each would make the table twice as large.
        texts = [text[:RARE] if text.isascii() else NEVER for text in self.texts]
        return self._automaton(ahocorasick_rs.Implementation.DFA, texts)

    def _automaton(
        self, kind: ahocorasick_rs.Implementation, texts: list[bytes]
    ) -> ahocorasick_rs.BytesAhoCorasick:
        return ahocorasick_rs.BytesAhoCorasick(texts, implementation=kind)
