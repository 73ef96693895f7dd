"""The symptoms of checks that show in the lines of a log."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.guard import examine, made
from gpudoctor.literals import Finder, literals
from gpudoctor.logs.exception_names import named_in
from gpudoctor.logs.lines import Line, read_text
from gpudoctor.logs.placeholders import filled_fixes, filled_message, quotes_no_line
from gpudoctor.logs.tracebacks import quoted_source
from gpudoctor.logs.unfinished import Unfinished, as_far_as, unfinished
from gpudoctor.logs.wrapping import cut_pieces, joined, likely_width
from gpudoctor.model import Check, Finding, Sighting, Source, Symptom
from gpudoctor.pattern_cache import compiled
from gpudoctor.patterns import late_pattern
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot
from gpudoctor.text import with_signals

ENDS = 60
"""Lines with which a log ends: what counts there alone is not looked for above."""
LOGGED = late_pattern(r"\b(?:ERROR|WARN(?:ING)?|CRITICAL|FATAL|INFO|DEBUG)\b")
"""The level in front of a logger's line."""
WARNED = late_pattern(r"\b[A-Z]\w{1,60}Warning: ")
"""What Python writes in front of a warning."""
BEFORE, AFTER = 60, 30
"""Lines of the same rank that count as standing near a line: a traceback has about as many."""


class Seen(Struct):
    """A check's symptom in a line."""

    check: Check
    line: Line
    place: int
    """Of the line among all that were read."""
    sighting: Sighting
    finding: Finding
    """What the check's own log function made of it, or its message and fixes."""
    symptom: Symptom

    @property
    def last(self) -> bool:
        """Whether it counts only where the log ends there."""
        return self.symptom.last

    @property
    def asked(self) -> bool:
        """Whether somebody who asks for help wrote it."""
        return self.symptom.asked


def _compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Compile a pattern; letters are ASCII's, for a Chinese word may stand right beside an error's name."""
    return compiled(pattern, flags | re.ASCII)


class Sightings(NamedTuple):
    """What was seen in a log, and which checks crashed at it or could not tell."""

    seen: list[Seen]
    """In the order of the text."""
    failed: list[Result]


Owner = tuple[str, int]
"""A check's id and the number of one of its symptoms."""
Load = Callable[[str], Check | None]
"""Gives the check of an id, or ``None`` where it cannot be loaded."""


def finder(checks: Iterable[Check]) -> Finder:
    """Make the finder of the literals of checks; its owners are pairs of an id and the number of a symptom."""
    return Finder(
        (text, (check.id, number))
        for check in checks
        for number, symptom in enumerate(check.symptoms)
        for text in literals(symptom.pattern)
    )


def matches(text: str, checks: Iterable[Check]) -> list[Seen]:
    """Return the first line of a text that shows each check's failure, in the order of the text."""
    known = {check.id: check for check in checks}
    return first_seen(text, finder(known.values()), known.get)


def first_seen(text: str, find: Finder, load: Load) -> list[Seen]:
    """Return the same as `matches`, for a finder that is at hand."""
    first: dict[str, Seen] = {}
    for seen in seen_in(read_text(text, ""), find, load).seen:
        first.setdefault(seen.check.id, seen)
    return list(first.values())


def seen_in(
    lines: Sequence[Line], find: Finder, load: Load, source: set[int] | None = None, *, any_case: bool = False
) -> Sightings:
    """Find every symptom in a log's lines; of a line, each check's first one.

    `load` gives the check of an id; it is asked for those alone whose literals stand in the text. `source` holds the
    places of quoted source, where they are known already. With `any_case`, small and capital letters are the same: for
    what people retype.
    """
    source = quoted_source(lines) if source is None else source
    flags = re.IGNORECASE if any_case else 0
    found: dict[tuple[int, str], Seen] = {}
    failed: dict[str, Result] = {}
    words = _Words()
    width = likely_width(lines)
    heads = {
        place: row
        for place, row in cut_pieces(lines).items()
        if named_in(lines[row.place].text, inside=True) is not None
    }

    def look(line: Line, places: range, owner: Owner) -> None:
        id, number = owner
        if source.isdisjoint(places) and not any((place, id) in found for place in places):
            check = load(id)
            # An index that is older than its checks may name a symptom too many.
            sighting = None
            if check is not None and number < len(check.symptoms):
                if check.symptoms[number].last and places[0] < len(lines) - ENDS:
                    return
                if any(_of_a_program(check.symptoms[number], lines[place]) for place in places):
                    return
                sighting = _sighting(check, check.symptoms[number], line, places[0], lines, flags, width)
            if check is not None and sighting is not None:
                result, findings = words.findings(check, sighting)
                if result.status in (CheckStatus.CRASHED, CheckStatus.UNKNOWN):
                    failed.setdefault(id, result)
                elif findings:
                    symptom = check.symptoms[number]
                    head = heads.get(places[0])
                    if head is not None:  # an exception's own line goes on there
                        line, places = head.line, range(head.place, head.place + 1)
                        sighting = replace(sighting, line=line.text, rank=line.rank, where=line.where)
                    found[places[0], id] = Seen(check, line, places[0], sighting, findings[0], symptom)

    for place, owner in _candidates(lines, find, any_case=any_case):
        look(lines[place], range(place, place + 1), owner)
    whole = list(joined(lines))
    for number, owner in _candidates([row.line for row in whole], find, any_case=any_case):
        line, place, pieces = whole[number]
        look(line, range(place, place + pieces), owner)
    if not any_case:
        for end in unfinished(lines, find):
            if not any(at == end.place for at, _ in found):
                found |= _begun(lines, end, load, words, width)
    apart = _apart(found.values())
    seen = [one for _, one in sorted(found.items()) if not one.symptom.differ or one.sighting.where in apart]
    return Sightings(seen, list(failed.values()))


def _of_a_program(symptom: Symptom, line: Line) -> bool:
    """Return whether a program says it where a person, or an end without words, is looked for.

    An exception tells of a failure by itself; and what a logger writes is nobody's question.
    """
    if not (symptom.asked or symptom.last):
        return False
    if named_in(line.text, inside=False) is not None:
        return True
    front = line.full[: len(line.full) - len(line.text)]
    logged = line.seconds is not None or LOGGED.search(front) or WARNED.search(line.text, 0, 400)
    return symptom.asked and bool(logged)


def seen_alone(lines: Sequence[Line], place: int, owner: Owner, load: Load) -> Seen | None:
    """Return a symptom of a line that ends in the middle of it, as far as its check can say what it means."""
    id, number = owner
    check = load(id)
    if check is None or number >= len(check.symptoms):
        return None
    line, symptom = lines[place], check.symptoms[number]
    around = _around(place, lines, likely_width(lines))
    unlike = bool(symptom.unless) and _compiled(symptom.unless).search(around) is not None
    if symptom.near or symptom.last or symptom.asked or unlike:
        return None
    sighting = Sighting(line=line.text, around=around, groups={}, rank=line.rank, where=line.where)
    _, findings = _Words().findings(check, sighting)
    return Seen(check, line, place, sighting, findings[0], symptom) if findings else None


def _begun(
    lines: Sequence[Line], end: Unfinished, load: Load, words: "_Words", width: int
) -> dict[tuple[int, str], Seen]:
    """Return what a line shows whose end is missing, as far as it goes; where it may be of several checks, nothing."""
    found: dict[tuple[int, str], Seen] = {}
    line = lines[end.place]
    for id, number in end.owners:
        check = load(id)
        symptom = check.symptoms[number] if check is not None and number < len(check.symptoms) else None
        if check is None or symptom is None or symptom.last or _of_a_program(symptom, line):
            continue
        pattern = as_far_as(symptom.pattern, end.text, dots=end.dots)
        if pattern is None:
            continue
        begun = replace(symptom, pattern=pattern)
        sighting = _sighting(check, begun, line, end.place, lines, 0, width)
        if sighting is None:
            continue
        result, findings = words.findings(check, sighting)
        if findings and result.status is CheckStatus.FOUND:
            found.setdefault((end.place, id), Seen(check, line, end.place, sighting, findings[0], symptom))
    return found if len(found) == 1 else {}


def _apart(seen: Iterable[Seen]) -> set[str | None]:
    """Return the places of what shows on two ranks that differ in what must be the same on all."""
    first: dict[tuple[str, Symptom, str], dict[int | None, Seen]] = {}
    for one in sorted(seen, key=lambda seen: seen.place):
        if one.symptom.differ:
            alike = first.setdefault((one.check.id, one.symptom, one.sighting.groups.get("of", "")), {})
            alike.setdefault(one.line.rank, one)
    places: set[str | None] = set()
    for ranks in first.values():
        told = {
            tuple(one.sighting.groups.get(name) for name in one.symptom.differ)
            for rank, one in ranks.items()
            if rank is not None
        }
        if len(told) > 1:
            places |= {one.sighting.where for one in ranks.values()}
    return places


def _candidates(
    lines: Sequence[Line], find: Finder, *, any_case: bool = False
) -> Iterator[tuple[int, Owner]]:
    """Yield the place of each line that holds a literal, with the symptoms that it belongs to."""
    ends: list[int] = []
    pieces = []
    length = 0
    for line in lines:
        data = (line.full.lower() if any_case else line.full).encode(errors="replace")
        pieces.append(data)
        length += len(data) + 1
        ends.append(length)
    place = 0
    done: set[tuple[int, Owner]] = set()
    for hit in sorted(
        (find.lowered if any_case else find).hits(b"\n".join(pieces)), key=lambda hit: hit.start
    ):
        while hit.start >= ends[place]:
            place += 1
        for owner in hit.owners:
            if owner is not None and (place, owner) not in done:
                done.add((place, owner))
                yield place, owner


class _Words:
    """What checks make of sightings; a thousand lines that say the same are put into words once."""

    def __init__(self) -> None:
        self._said: dict[object, tuple[Result, list[Finding]]] = {}

    def findings(self, check: Check, sighting: Sighting) -> tuple[Result, list[Finding]]:
        """Return what a check's own function makes of a sighting, or without one its message and fixes."""
        if Source.LOG in check.functions:
            result, found = examine(check, Source.LOG, Snapshot({"sighting": sighting}))
            return result, [replace(one, message=with_signals(one.message)) for one in found]
        groups = sighting.groups
        key = check.id, "" if quotes_no_line(check, groups) else sighting.line, *groups.items()
        if key not in self._said:
            self._said[key] = made(check, Source.LOG, lambda: [_filled(check, sighting)])
        return self._said[key]


def _filled(check: Check, sighting: Sighting) -> Finding:
    message = with_signals(filled_message(check, sighting.groups, sighting.line))
    return check.found(message, fixes=filled_fixes(check, sighting.groups))


def _sighting(
    check: Check, symptom: Symptom, line: Line, place: int, lines: Sequence[Line], flags: int, width: int
) -> Sighting | None:
    pattern = _compiled(symptom.pattern, flags)
    full = line.full.rstrip()
    if full.endswith("`") and full.count("`") % 2:
        full = full[:-1]  # a quotation ends there that began lines above
    match = pattern.search(full)
    if match is None and "^" in symptom.pattern.replace("^(?!", ""):
        # A launcher's or a logger's prefix stands in front; of what may not stand there, the whole line tells.
        match = pattern.search(line.text)
    if match is None:
        return None
    groups = {name: value for name, value in match.groupdict().items() if value is not None}
    around = ""
    if symptom.near or symptom.unless or Source.LOG in check.functions:
        around = _around(place, lines, width)
    if symptom.unless and _compiled(symptom.unless, flags).search(around):
        return None
    if symptom.near:
        near = _compiled(symptom.near, flags).search(around)
        if near is None:
            return None
        groups |= {name: value for name, value in near.groupdict().items() if value is not None}
    return Sighting(line=line.text, around=around, groups=groups, rank=line.rank, where=line.where)


def _around(place: int, lines: Sequence[Line], width: int) -> str:
    """Return the lines that stand near a line, and the line itself; those of other ranks are left out.

    Where a terminal cut lines at a width, the pieces are put together: a path or a word goes on in the next line.
    """
    own = lines[place]
    near = range(max(0, place - 4 * BEFORE), min(len(lines), place + 4 * AFTER))
    places = [p for p in near if lines[p].name == own.name and lines[p].rank in (own.rank, None)]
    at = places.index(place)
    rows = [lines[p] for p in places[max(0, at - BEFORE) : at + AFTER]]
    if not width:
        return "\n".join(row.text for row in rows)
    # Of a bar and what stood right behind it, two rows were made.
    bars = [0, *(len(row.full) if row.bar else 0 for row in rows)]
    same = [False, *(row.number == above.number for above, row in pairwise(rows))]
    cut = [
        len(row.full) + (bar if one else 0) == width for row, bar, one in zip(rows, bars, same, strict=False)
    ]
    pieces = (
        (" " * row.indent + row.text if before else row.text) + ("" if here else "\n")
        for row, before, here in zip(rows, [False, *cut], cut, strict=False)
    )
    return "".join(pieces).removesuffix("\n")
