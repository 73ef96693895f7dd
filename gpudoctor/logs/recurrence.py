"""What comes again in a log: the same exception below the same line of code, or a program's first words."""

import itertools
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Sequence

from gpudoctor.logs.line_kinds import NOISE
from gpudoctor.logs.lines import Line
from gpudoctor.logs.raised import Raised
from gpudoctor.patterns import late_pattern

DIGITS = late_pattern(r"\d+")
WHOLE = late_pattern(r"(?<![\d.:])\d{1,15}(?![\d.:])")
WORDS = late_pattern(r"[A-Za-z]{3}")
OPENING = 3
"""Lines with text at the beginning of a log among which a program's first words stand."""


def same_begin(raised: Raised, others: Iterable[Raised]) -> list[Raised]:
    """Return those of other exceptions whose traceback begins in the same line of code."""
    if not raised.frames:
        return []
    top = (raised.frames[0].path, raised.frames[0].line)
    return [
        one
        for one in others
        if one is not raised
        and not one.chained
        and bool(one.frames)
        and (one.frames[0].path, one.frames[0].line) == top
    ]


def dies_again(raised: Raised, others: Iterable[Raised]) -> bool:
    """Return whether a script that an exception seems to have ended is ended by another one, further down."""
    return any(
        other.first > raised.last
        and not other.chained
        and other.at_top
        and other.frames[0].path == raised.frames[0].path
        and (other.type, other.message) != (raised.type, raised.message)
        for other in others
    )


class Openings:
    """The first lines of a log that a program printed of its own, and where lines of their kind come again."""

    def __init__(self, lines: Sequence[Line]) -> None:
        own = (line.text for line in lines if line.text and not NOISE.search(line.text))
        first = shapes(itertools.islice(own, OPENING))
        self.places: dict[str, list[int]] = defaultdict(list)
        for place, line in enumerate(lines):
            if first and (shape := _shape(line.text)) in first:
                self.places[shape].append(place)

    def begun_anew(self, first: int, last: int) -> int | None:
        """Return the place below which a program began anew; ``None`` where none did.

        One of the first lines of the log, which did not come again above `first`, comes again below `last`: another
        job, or another try.
        """
        again = [
            places[bisect_right(places, last)]
            for places in self.places.values()
            if bisect_left(places, first) == 1 and places[-1] > last
        ]
        return min(again, default=None)


def shapes(texts: Iterable[str]) -> set[str]:
    """Return the lines that hold a word, each without its numbers."""
    return {_shape(text) for text in texts if WORDS.search(text)}


def counts_on(texts: Sequence[str], most: int = 3) -> bool:
    """Return whether lines of one kind stand below each other and count: a loop printed them, and no exception."""
    for at in range(len(texts) - most + 1):
        rows = texts[at : at + most]
        if len(shapes(rows)) == 1 and all(WORDS.search(row) for row in rows):
            columns = zip(*([int(number) for number in DIGITS.findall(row)] for row in rows), strict=True)
            if any(all(b - a == 1 for a, b in itertools.pairwise(column)) for column in columns):
                return True
    return False


def numbered(text: str) -> list[tuple[str, list[int]]]:
    """Return a line's kind and its whole numbers; nothing of one without words."""
    whole = [int(number) for number in WHOLE.findall(text)]
    return [(_shape(text), whole)] if WORDS.search(text) else []


def counts_back(before: Sequence[int], after: Sequence[int]) -> bool:
    """Return whether a number of a line is lower than that in the same place of an earlier line of its kind.

    Not where another one is the next: a new epoch begins with the first step.
    """
    pairs = list(zip(before, after, strict=True)) if len(before) == len(after) else []
    return any(b > a for b, a in pairs) and not any(a - b == 1 for b, a in pairs)


def begins(above: Iterable[tuple[str, list[int]]], below: Iterable[tuple[str, list[int]]]) -> bool:
    """Return whether numbered lines count from where the first of their kind above had begun."""
    counted: dict[tuple[str, int], list[int]] = defaultdict(list)
    for shape, row in above:
        for column, number in enumerate(row):
            counted[shape, column].append(number)
    first = {key: numbers[0] for key, numbers in counted.items() if len(set(numbers)) > 1}
    return any(
        first.get((shape, column)) == number for shape, row in below for column, number in enumerate(row)
    )


def _shape(text: str) -> str:
    """Return a line without its numbers."""
    return DIGITS.sub("#", text)
