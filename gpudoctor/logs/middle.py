"""How far a training had come where its log ends in the middle of it."""

from collections.abc import Sequence

from gpudoctor.logs.line_kinds import ENOUGH
from gpudoctor.logs.lines import FULL, Line
from gpudoctor.patterns import late_pattern

AT = late_pattern(
    r"(?P<what>\b[Ee]pochs?|\b[Ss]teps?|\b[Ii]ter(?:ation)?s?|\b[Bb]atch(?:es)?)\b\W{0,4}(?P<at>\d{1,9})\s?(?:/|of)\s?(?P<of>\d{1,9})\b|"
    r"(?P<percent>\b\d{1,2})%\|"
)
"""How far a training says that it has come."""
COUNTER = late_pattern(r"^\W?(?P<at>\d{1,9})/(?P<of>\d{1,9})\W")
"""A counter in front of a line; where it does not go up it may be a rank's."""
BEHIND = late_pattern(
    r"\b(?:[Ff]inish|[Dd]one\b|[Cc]omplete|[Ss]aved\b|[Ss]aving\b|[Bb]est\b|[Tt]est\b|[Ee]val|[Vv]al|[Ff]inal|[Tt]otal|[Ee]lapsed|[Ss]top|[Ee]xit)"
)
"""What a program prints behind its last step."""
NEARLY = 0.85
"""Part of all steps after which the end is near enough to have been reached."""


def middle(lines: Sequence[Line]) -> str:
    """Return how far the training had come where the log ends in the middle of it; nothing where it does not."""
    for line in reversed([line for line in lines if line.text][-3:]):
        if BEHIND.search(line.text) or FULL.search(line.text):
            return ""
        found = list(AT.finditer(line.text, 0, 400))
        if not found:
            if counted := _counted(lines, line):
                return counted
            continue
        for each in found:
            # Where steps are counted from 0, or only every so many told of, the last one is not the whole.
            at, of = (int(each["percent"]), 100) if each["percent"] else (int(each["at"]), int(each["of"]))
            if at >= min(of - 1, NEARLY * of):
                continue
            if each["percent"]:
                return f"{each['percent']} %"
            return f"{each['what'].lower()} {each['at']} of {each['of']}"
        return ""
    return ""


def _counted(lines: Sequence[Line], line: Line) -> str:
    """Return how far a counter in front of a line has come, if it goes up by one from line to line; else nothing."""
    counter = COUNTER.match(line.text)
    if counter is None:
        return ""
    at, of = int(counter["at"]), int(counter["of"])
    above = [x["at"] for x in (COUNTER.match(each.text) for each in lines) if x and int(x["of"]) == of]
    up = [int(each) for each in above[-ENOUGH:]] == list(range(at - ENOUGH + 1, at + 1))
    return f"{at} of {of}" if up and at < min(of - 1, NEARLY * of) else ""
