"""A ticket: Markdown with a whole JSON report in a fenced block, pasted and quoted as tickets are."""

import re

from msgspec import Struct

from gpudoctor.importers import report
from gpudoctor.importers.pasted import lines
from gpudoctor.model import Report

MARK = "gpudoctor.report/"
_BEGIN = re.compile(r'\s*\{(?:\s*"schema"\s*:\s*"gpudoctor\.report/|\s*$)')
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
    damage = None
    for block in reversed(_blocks(text)):
        try:
            return report.read(block, topics)
        except report.Damaged as error:
            damage = damage or error
    if damage is not None:
        raise report.Damaged(f"the report in this ticket: {damage}")
    return None


def _blocks(text: str) -> list[str]:
    """Return what stands between the beginning of each report and the end of its fence, on one line.

    A string in JSON never holds a line break, so joining the lines mends those that were wrapped.
    """
    blocks: list[list[str]] = []
    inside: list[str] | None = None
    for line in lines(text):
        if inside is not None and _END.match(line):
            inside = None
        elif _BEGIN.match(line) and (inside is None or MARK in line):
            inside = []
            blocks.append(inside)
        if inside is not None:
            inside.append(line)
    return [block for block in map("".join, blocks) if MARK in block[:200]]
