"""Boxes of rich's: a path that fills more than a line, and the message below, put together where rich broke them."""

from collections.abc import Sequence

from gpudoctor.patterns import late_pattern

BOTTOM = late_pattern(r"^ *╰─+╯ *$")
"""The last line of a box; the exception's name and message stand below it, broken at the box's width."""
NAME = late_pattern(r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?::|$)")
FILLED = late_pattern(r" {0,4}│ (?P<path>(?:/|~/|[A-Z]:\\)[^\s│]{20,400}) │")
"""A row of a box that a path fills to its end."""
WITHIN = late_pattern(r" {0,4}│ (?P<body>\S.*?) *(?:│|$)")
BREAKS = late_pattern(r" {0,4}│ (?P<path>(?:/|~/|[A-Z]:\\)[^\s│]{3,400}:\d+ in) +│")
"""A row of a box in which there was no room for the function's name behind the line's number."""
GOES_ON = late_pattern(r"\S{0,400}:\d+ in \S")
ANOTHER = late_pattern(
    r"(?:DEBUG|INFO|WARNING|WARN|ERROR|CRITICAL)\b ?[: |]|\[?[IWEF]? ?\d{4}[-/ ]?\d\d|"
    r"\[[\w=: -]{1,20}\]|Traceback \(most "
)
"""How a logger's line begins, or another traceback: it is no word of the message above."""
MOST_OF_PATH = 4
"""Rows that a path takes, at the most."""
MOST = 20
"""Lines below a box that may be of the message."""


def unbroken(rows: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return numbered lines, those put together that rich broke because the next word did not fit."""
    whole: list[tuple[int, str]] = []
    at = 0
    while at < len(rows):
        whole.append(rows[at])
        if rows[at][1].lstrip().startswith("│ ") and (framed := _framed(rows, at)) is not None:
            whole[-1], at = framed
        bottom = BOTTOM.match(rows[at][1]) if "╰─" in rows[at][1] else None
        at += 1
        if bottom is not None and at < len(rows) and NAME.match(rows[at][1].lstrip()):
            end = _end(rows, at)
            whole += _message(rows[at:end], len(bottom[0].rstrip()))
            at = end
    return whole


def _framed(rows: Sequence[tuple[int, str]], at: int) -> tuple[tuple[int, str], int] | None:
    """Return the row of a frame whose path fills a row and goes on in the next, with the place of its last row."""
    if (broken := BREAKS.match(rows[at][1])) is not None and at + 1 < len(rows):
        rest = WITHIN.match(rows[at + 1][1])
        return rest and ((rows[at][0], f"{broken[0][: broken.end('path')]} {rest['body']} │"), at + 1)
    path = FILLED.match(rows[at][1])
    for after in range(at + 1, min(at + MOST_OF_PATH, len(rows))) if path is not None else ():
        rest = WITHIN.match(rows[after][1])
        if path is None or rest is None:
            return None
        if GOES_ON.match(rest["body"]):
            between = "".join(row[path.start("path") : path.end("path")] for _, row in rows[at + 1 : after])
            return (rows[at][0], path[0][: path.end("path")] + between + rest["body"]), after
    return None


def _end(rows: Sequence[tuple[int, str]], begin: int) -> int:
    """Return where the message ends that begins in a row: at a blank line, another box, or left of its margin."""
    margin = _indent(rows[begin][1])
    most = range(begin + 1, min(begin + MOST, len(rows)))
    ends = (
        at
        for at in most
        if not rows[at][1].strip()
        or _indent(rows[at][1]) < margin
        or "╭─" in rows[at][1]
        or ANOTHER.match(rows[at][1].lstrip())
    )
    return next(ends, most.stop)


def _message(rows: Sequence[tuple[int, str]], width: int) -> list[tuple[int, str]]:
    """Return the lines below a box of a width, put together; what is indented further begins a line of its own."""
    found: list[tuple[int, str]] = []
    margin, last = _indent(rows[0][1]), ""
    for number, text in rows:
        body = text[margin:]
        word = body.split(" ", 1)[0]
        if found and word and _indent(text) == margin and margin + len(last) + 1 + len(word) > width:
            between = " " if " " in last else ""  # a word that is longer than the box is cut
            found[-1] = (found[-1][0], found[-1][1].rstrip() + between + body)
        else:
            found.append((number, text))
        last = body.rstrip()
    return found


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip())
