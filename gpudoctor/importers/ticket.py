"""A ticket: Markdown with a whole JSON report in a fenced block, pasted and quoted as tickets are."""

import re

from msgspec import Struct

from gpudoctor.importers import report
from gpudoctor.importers.pasted_text import lines
from gpudoctor.report import Report

MARK = "gpudoctor.report/"
_BEGIN = re.compile(r'\s*(?:\{\s*)?("schema"\s*:\s*"gpudoctor\.report/)')
# Nobody pastes more; each that is damaged costs as much as a whole one.
_MOST = 100
_END = re.compile(r"\s*(?:```|~~~|</details>)")


def read(text: str, topics: dict[str, type[Struct]]) -> Report | None:
    """Read the last whole report of a ticket: where there are several, the last one is the newest.

    Returns ``None`` where there is none at all; raises `Unreadable` where there are some and none is whole.

    ````
    > ```json
    > {
    >   "schema": "gpudoctor.report/1",
    ````
    """
    blocks = _blocks(text) if MARK in text else []
    for block in reversed(blocks[-_MOST:]):
        try:
            return report.read(block, topics)
        except report.Damaged:
            continue
    if blocks:
        raise report.Damaged("the report in this ticket is cut off or damaged")
    return None


def _blocks(text: str) -> list[str]:
    """Return what stands between the beginning of each report and the end of its fence, on one line.

    A string in JSON never holds a line break, so joining the lines mends those that were wrapped.
    A copy from a web page has no fences: then the last brace ends the report.
    """
    blocks: list[list[str]] = []
    inside = False
    for line in lines(text):
        if begin := _BEGIN.match(line):
            inside = True
            blocks.append(["{", line[begin.start(1) :]])
        elif inside and _END.match(line):
            inside = False
        elif inside:
            blocks[-1].append(line)
    joined = map("".join, blocks)
    return [block[: block.rfind("}") + 1] for block in joined]
