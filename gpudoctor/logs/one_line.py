"""A traceback that was run together into one line: a form, a chat or a table took the ends of its lines away."""

from gpudoctor.logs.raised import CUT_OFF, Frame
from gpudoctor.patterns import late_pattern

BEGINS = late_pattern(r"\(most recent call last\):?(?:[ \w./:-]{1,120}:)? {1,8}File \"")
CALL = late_pattern(
    r"File \"(?P<path>[^\"\n]{1,400})\", line (?P<line>\d{1,7}), in (?P<function>[^\s`]{1,80})"
    r"(?P<text>(?: (?!File \")\S{1,200}){0,40})"
)
NAMES = late_pattern(
    r"(?<= )(?P<type>(?:[A-Za-z_]\w{0,60}\.){0,6}[A-Z]\w{0,60}(?:Error|Exception|Interrupt|NotMet)): (?P<message>\S.*)"
)
LONGEST = 20000
CUT_LEAST = 3
"""Frames of a traceback in one line that are enough to know it by, where the rest of the line is not here."""


def run_together(text: str) -> tuple[str, str, list[Frame]] | None:
    """Return type, message and frames of the exception of a traceback that stands in one line with all its frames."""
    if 'File "' not in text or (begins := BEGINS.search(text)) is None:
        return None
    text = text[begins.start() : LONGEST]
    calls = list(CALL.finditer(text))
    named = NAMES.search(text, calls[-1].start("text")) if calls else None
    if named is None:
        # The line ends before the exception is named.
        rows = [Frame(x["path"], int(x["line"]), x["function"], x["text"].strip()) for x in calls]
        return (CUT_OFF, "", rows) if len(rows) >= CUT_LEAST else None
    frames = [
        Frame(
            x["path"],
            int(x["line"]),
            x["function"],
            x["text"][: max(0, named.start() - x.start("text"))].strip(),
        )
        for x in calls
    ]
    return named["type"].rpartition(".")[2], named["message"].strip(" `"), frames
