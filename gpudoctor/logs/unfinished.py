"""Lines of which the end is missing, since the log was cut there or somebody wrote dots: they may begin a known text.

A pattern is tried without its end, as far as the line goes.
"""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gpudoctor.literals import Finder
from gpudoctor.logs.lines import Line
from gpudoctor.patterns import late_pattern

DOTS = late_pattern(r"\s*(?:\.{2,}|\u2026)\W{0,3}$")
"""What somebody writes in the place of the rest of a line."""
MARK = late_pattern(r"[\s`~*\"'}>]*$")
"""A line without a letter, such as the end of a block of code."""
PASTE = 200
"""Lines of a log in which each that ends in dots is looked at; of a longer one only the last."""
LEAST = 14
"""Letters of a known text that tell it from others, where the line ends inside a word of it, or in dots."""
LONG = 25
"""Letters that tell it wherever the line ends."""
QUANTIFIER = re.compile(r"(?:[*+?]|\{\d*,?\d*\})[?+]?")
WILD = re.compile(r"(?<!\\)\.[*+{]|\\[SwW][*+{]|\[\^[^\]]*\][*+{]")
MORE = re.compile(r" ?[A-Za-z]")
"""More words of a sentence. What may come behind other signs makes another text of a line that is whole."""
NAME = re.compile(r"\w*(?:Error|Exception): ")
OF_PYTHON = (
    "' object has no attribute '",
    "No module named '",
    "cannot import name '",
    "() got an unexpected keyword argument '",
    "No such file or directory: '",
    "takes positional arguments but were given",
)
"""Words that begin many messages, of which the rest tells one from the other."""
SPECIAL = frozenset("\\[(.^$|")


class Unfinished(NamedTuple):
    """A line whose end is missing."""

    place: int
    text: str
    """What is there, without dots."""
    dots: bool
    owners: list[tuple[str, int]]
    """The checks, and the numbers of their symptoms, of which a literal stands in it, or begins at its end."""


class Atom(NamedTuple):
    """One part of a pattern, with how often it may come."""

    end: int
    plain: bool
    """A letter that stands for itself."""
    wild: bool
    """It matches whatever stands there."""


def unfinished(lines: Sequence[Line], find: Finder) -> Iterator[Unfinished]:
    """Yield the lines of which the end seems to be missing."""
    last = next((p for p in reversed(range(len(lines))) if not MARK.match(lines[p].text)), -1)
    for place in range(len(lines)) if len(lines) <= PASTE else [last]:
        text = lines[place].text if place >= 0 else ""
        dots = DOTS.search(text[-40:])
        quoted = text[:1] in ("'", '"') and text[-1:] == text[:1]  # a row of a program
        if text and not quoted and not lines[place].bar and (place == last or dots):
            text = text[: len(text) - len(dots[0])] if dots else text.rstrip(" `*\"'")
            owners = {owner: None for hit in find.hits(text.encode()) for owner in hit.owners if owner}
            owners |= {owner: None for each in find.begun(text, LEAST) for owner in each if owner}
            yield Unfinished(place, text, dots is not None, list(owners))


def as_far_as(pattern: str, text: str, *, dots: bool) -> str | None:
    """Return as much of a pattern as the end of a text shows; ``None`` where that is too little to know it by."""
    for begin, atoms in _branches(pattern):
        low, high = 0, len(atoms)
        while low < high:  # a longer piece matches only where a shorter one does
            middle = (low + high + 1) // 2
            if _found(pattern[begin : atoms[middle - 1].end], text):
                low = middle
            else:
                high = middle - 1
        if not 0 < low < len(atoms) or not atoms[low - 1].plain:
            continue
        piece = pattern[begin : atoms[low - 1].end]
        wild = max((n for n, atom in enumerate(atoms[:low]) if atom.wild), default=-1) + 1
        own = NAME.sub("", pattern[atoms[wild - 1].end if wild else begin : atoms[low - 1].end])
        letters = min(len(own), sum(atom.plain for atom in atoms[wild:low]))
        inside = text[-1:].isalnum() and pattern[atoms[low - 1].end].isalnum()
        goes_on = dots or inside or MORE.match(pattern, atoms[low - 1].end) is not None
        least = LEAST if inside or dots else LONG
        if any(own.strip() in text for text in OF_PYTHON):
            continue
        if goes_on and letters >= least and _found(rf"(?:{piece})\s*$", text):
            return rf"(?:{piece})\s*"
    return None


def _found(pattern: str, text: str) -> bool:
    try:
        return re.search(pattern, text, re.ASCII) is not None
    except re.error:  # it asks for a group that stands in another branch
        return False


def _branches(pattern: str) -> Iterator[tuple[int, list[Atom]]]:
    """Yield where each alternative of a pattern begins, and its parts."""
    begin = at = 0
    atoms: list[Atom] = []
    while at < len(pattern):
        if pattern[at] == "|":
            yield begin, atoms
            begin, atoms = at + 1, []
            at += 1
            continue
        at_first, end = at, _end(pattern, at)
        repeated = QUANTIFIER.match(pattern, end)
        plain = pattern[at] not in SPECIAL or (pattern[at] == "\\" and not pattern[at + 1].isalnum())
        at = repeated.end() if repeated else end
        part = pattern[at_first:at]
        atoms.append(Atom(at, plain and repeated is None, WILD.search(part) is not None))
    yield begin, atoms


def _end(pattern: str, at: int) -> int:
    """Return where the part of a pattern ends that begins at a place."""
    if pattern[at] == "\\":
        return at + {"x": 4, "u": 6}.get(pattern[at + 1], 2)
    if pattern[at] == "[":
        at += 2 if pattern[at + 1] == "^" else 1
        at += 1  # a bracket here stands for itself
        while pattern[at] != "]":
            at += 2 if pattern[at] == "\\" else 1
        return at + 1
    if pattern[at] == "(":
        at += 1
        while pattern[at] != ")":
            at = _end(pattern, at)
        return at + 1
    return at + 1
