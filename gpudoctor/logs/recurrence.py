"""What comes again in a log: the same exception below the same line of code, or a program's first words."""

import re
from collections.abc import Iterable, Sequence

from gpudoctor.logs.line_kinds import NOISE
from gpudoctor.logs.lines import Line
from gpudoctor.logs.tracebacks import Raised

DIGITS = re.compile(r"\d+")
WORDS = re.compile(r"[A-Za-z]{3}")
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


def begun_anew(lines: Sequence[Line], first: int, last: int) -> int | None:
    """Return the place below which a program began anew; ``None`` where none did.

    One of the first lines of the log, which did not come again above `first`, comes again below `last`: another job,
    or another try.
    """
    above = [_shape(line.text) for line in lines[:first] if line.text and not NOISE.search(line.text)]
    shapes = {shape for shape in above[:OPENING] if WORDS.search(shape) and above.count(shape) == 1}
    below = range(last + 1, len(lines))
    return next((place for place in below if shapes and _shape(lines[place].text) in shapes), None)


def shapes(texts: Iterable[str]) -> set[str]:
    """Return the lines that hold a word, each without its numbers."""
    return {_shape(text) for text in texts if WORDS.search(text)}


def _shape(text: str) -> str:
    """Return a line without its numbers."""
    return DIGITS.sub("#", text)
