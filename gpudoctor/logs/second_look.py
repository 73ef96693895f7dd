"""A second look at a paste of few lines in which nothing was seen: retyped, quoted in a sentence, or cut off."""

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from gpudoctor.literals import Finder
from gpudoctor.logs.exception_names import NAMED
from gpudoctor.logs.lines import Line
from gpudoctor.logs.symptoms import Load, Owner, Seen, Sightings, seen_alone, seen_in
from gpudoctor.patterns import late_pattern

MOST_LINES = 40
"""Lines: what somebody retyped, or quotes in a sentence, is no longer."""
CLOSED_BY = {'"': '"', "'": "'", "`": "`", "*": "*", "\u201c": "\u201d", "\u2018": "\u2019", "(": ")"}
GOES_ON = late_pattern(
    r"[ \u3002\uff0c,]+(?:(?:[Aa]ny(?:one|body)?|[Hh]ow|[Ww]hat|[Ww]hy|[Cc]an|[Cc]ould|[Pp]lease|[Dd]oes|[Tt]hanks?|"
    r"[Ii]s there|I(?:'m|'ve)?|[Mm]y|[Ii]t|[Bb]ut|[Tt]his|[Ss]o)\b|"
    r"(?:when|while|after|whenever|if|once|on the|in the|during|every time|as soon as) )|[\u3002\uff0c\u8bf7\u600e]"
)
"""How a sentence goes on behind an error that it quotes."""
HEAD, WORDS = 20, 4
"""Letters and words of a known message that are enough to know it by, where the rest was cut off."""
TAIL = " .\u2026`\"'*\u201d\u2019"


def second_look(
    lines: Sequence[Line], find: Finder, load: Load, source: set[int], *, raised: bool
) -> Sightings:
    """Return what shows in such a paste after all."""
    found = _quoted(lines, find, load, source)
    if not found.seen and not raised:
        found = seen_in(lines, find, load, source, any_case=True)
    return found if found.seen else Sightings(list(_cut(lines, find, load, source)), [])


def message_in(text: str) -> str | None:
    """Return the name and message of an exception that stands in a sentence, without the rest of the sentence."""
    # A name behind a straight quote is quoted in a sentence, but a value in a logger's record.
    named = None if text.lstrip().startswith("{") else NAMED.search(text.replace('"', " "))
    if named is None:
        return None
    begin = named.start("type")
    rest = text[begin:]
    close = CLOSED_BY.get(text[begin - 1 : begin])
    if close is not None and close in rest:
        return rest[: rest.index(close, 1)] if close != "'" else rest[: rest.rindex(close)]
    at = named.start("message") - begin
    ends = GOES_ON.search(rest, at)
    if ends is not None:
        return rest[: ends.start()]
    return rest if begin else None


def _quoted(lines: Sequence[Line], find: Finder, load: Load, source: set[int]) -> Sightings:
    """Look at the messages alone that sentences quote: what a pattern takes for a line's end is their end."""
    messages = {place: message_in(line.full) for place, line in enumerate(lines)}
    alone = [
        replace(line, text=message, full=message) if (message := messages[place]) is not None else line
        for place, line in enumerate(lines)
    ]
    return seen_in(alone, find, load, source) if any(messages.values()) else Sightings([], [])


def _cut(lines: Sequence[Line], find: Finder, load: Load, source: set[int]) -> Iterator[Seen]:
    """Yield what lines show that end in the middle of a text that one check alone looks for."""
    begun: dict[str, list[tuple[str, Owner]]] = {}
    for text, owner in find.owned():
        if owner is not None and len(text) > HEAD:
            begun.setdefault(text[:HEAD], []).append((text, owner))
    for place, line in enumerate(lines):
        whole = (message_in(line.full) or line.full).rstrip(TAIL)
        if place in source or len(whole) > 600:
            continue
        owners = {
            owner
            for at in range(max(0, len(whole) - 300), len(whole) - HEAD + 1)
            for text, owner in begun.get(whole[at : at + HEAD], ())
            if not whole[-1].isdigit()
            and len(whole[at:].split()) >= WORDS
            and text.startswith(whole[at:])
            and text.rstrip(TAIL) != whole[at:]
        }
        if len({id for id, _ in owners}) == 1:
            seen = seen_alone(lines, place, min(owners), load)
            if seen is not None:
                yield seen
