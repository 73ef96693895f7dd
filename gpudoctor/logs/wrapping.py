"""Lines that were one: cut at the width of a terminal, or broken between words by a mail or an editor."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from gpudoctor.logs.lines import LINE_MOST, Line
from gpudoctor.patterns import late_pattern

WIDTHS = range(60, 251)
"""Columns of a terminal."""
LETTERS = late_pattern(r"[A-Za-z_][a-z]$")
"""A line's last letter and the next one's first, where the end of a line may stand in the middle of a word."""
DIGIT = late_pattern(r"\d")
ALIKE = 3
"""Lines of exactly one length from which on that is a width."""
PASTE = 3000
"""Lines: a paste may have been broken between words; a log of a program that is longer was not."""
USUAL = (80, 100, 120)
"""Columns that terminals have of themselves: of these a line or two are enough."""
INSIDE = late_pattern(r"[a-z\d_]{2}")
"""The letters on both sides of where a line was cut, if that was inside of a word or a number."""
END = tuple(".;{}[]")
"""A line that ends so is finished."""


class Joined(NamedTuple):
    """Several lines put together."""

    line: Line
    place: int
    """Of the first piece among all lines."""
    pieces: int


def joined(lines: Sequence[Line]) -> Iterator[Joined]:
    """Yield the lines that were perhaps one, put together."""
    cut = list(_cut(lines))
    yield from cut
    if len(lines) <= PASTE:
        yield from _broken(lines)
    if cut and len(lines) <= PASTE:
        yield from _both(lines, cut)


def cut_pieces(lines: Sequence[Line]) -> dict[int, Joined]:
    """Return, by the places of all their pieces but the first, the lines that a terminal seems to have cut."""
    rows = _cut(lines) if likely_width(lines) else ()
    return {place: row for row in rows for place in range(row.place + 1, row.place + row.pieces)}


def _cut(lines: Sequence[Line]) -> Iterator[Joined]:
    """Yield runs of lines that a terminal cut at its width."""
    widths = _widths(lines)
    place = 0
    while place < len(lines):
        end = place
        while end + 1 < len(lines) and len(lines[end].full) in widths and lines[end + 1].text:
            end += 1
        if end > place:
            yield _one(lines, place, end, "")
        place = end + 1


def _both(lines: Sequence[Line], cut: Sequence[Joined]) -> Iterator[Joined]:
    """Yield the lines that were broken between words before a terminal cut them at its width."""
    pieces = {row.place: row.pieces for row in cut}
    wholes = {row.place: row.line for row in cut}
    whole: list[Line] = []
    places: list[int] = []
    place = 0
    while place < len(lines):
        whole.append(wholes.get(place, lines[place]))
        places.append(place)
        place += pieces.get(place, 1)
    places.append(len(lines))
    for row in _broken(whole):
        end = places[row.place + row.pieces]
        if end - places[row.place] > row.pieces:
            yield Joined(row.line, places[row.place], end - places[row.place])


def _widths(lines: Sequence[Line]) -> set[int]:
    """Return the widths at which lines seem to be cut: the largest, and any that several lines share exactly."""
    lengths = Counter(len(line.full) for line in lines)
    widest = max(lengths, default=0)
    often = [width for width, count in lengths.items() if count >= ALIKE and width >= 0.6 * widest]
    return {width for width in (widest, *often) if width in WIDTHS}


def likely_width(lines: Sequence[Line]) -> int:
    """Return the width at which a terminal perhaps cut lines; 0 where not even several lines are as wide as the widest.

    A progress bar counts too: this is for what may be put together wrongly without harm.
    """
    widest = max((len(line.full) for line in lines), default=0)
    if widest not in WIDTHS or len(lines) > PASTE:
        return 0
    return widest if len({line.full for line in lines if len(line.full) == widest}) >= ALIKE else 0


def cut_width(lines: Sequence[Line]) -> int:
    """Return the width at which a terminal cut every line that was longer; 0 where nothing shows that one did.

    A progress bar is as wide as the terminal of itself; lines that differ in numbers alone are as wide as each other.
    """
    widest = max((len(line.full) for line in lines if line.text and not line.bar), default=0)
    if widest not in WIDTHS:
        return 0
    cut = [at for at, x in enumerate(lines) if len(x.full) == widest and x.text and not x.bar]
    if len({DIGIT.sub("0", lines[at].full) for at in cut}) >= ALIKE:
        return widest
    return widest if widest in USUAL and _inside_words(lines, cut) else 0


def _inside_words(lines: Sequence[Line], cut: Sequence[int]) -> bool:
    """Return whether a few lines of one length each go on in the next one, and one of them inside of a word.

    Lines of a loop differ in numbers alone.
    """
    if len(cut) >= 4 * ALIKE or cut[-1] + 1 == len(lines):
        return False
    pairs = [(lines[at].full, lines[at + 1].full) for at in cut]
    loop = any(DIGIT.sub("0", line) == DIGIT.sub("0", after) for line, after in pairs)
    return not loop and any(INSIDE.search(f"{line[-1]}{after[:1]}") for line, after in pairs)


def _broken(lines: Sequence[Line]) -> Iterator[Joined]:
    """Yield each line with the two that follow it, where the sentence may go on."""
    for place, line in enumerate(lines):
        end = place
        while end < place + 2 and end + 1 < len(lines) and _goes_on(lines[end], lines[end + 1], line):
            end += 1
        if end > place:
            yield _one(lines, place, end, " ")
        long = end > place and len(line.full) >= WIDTHS.start
        if long and LETTERS.search(line.full[-1:] + lines[place + 1].text[:1]):
            yield _one(lines, place, place + 1, "")


def _goes_on(line: Line, after: Line, first: Line) -> bool:
    return bool(line.text and after.text) and not line.text.endswith(END) and after.rank == first.rank


def _one(lines: Sequence[Line], place: int, end: int, between: str) -> Joined:
    first, rest = lines[place], lines[place + 1 : end + 1]
    tail = between.join(
        line.text if between else " " * line.indent + line.text + _blanks(line) for line in rest
    )
    text = first.text + (between or _blanks(first)) + tail
    full = first.full.rstrip(" ") if between else first.full
    line = replace(first, full=(full + between + tail)[:LINE_MOST], text=text[:LINE_MOST])
    return Joined(line, place, end - place + 1)


def _blanks(line: Line) -> str:
    """Return the blanks at the end of a line, behind which a terminal may have cut it."""
    return " " * (len(line.full) - len(line.full.rstrip(" ")))
