"""Control characters in strings from strangers: shown as escapes, never sent to a terminal or into a ticket."""

import re
from typing import Any

from gpudoctor.model import Report
from gpudoctor.snapshot import rewritten

# C0 but tab and line feed, DEL, C1, and what turns the direction of writing (Unicode's bidirectional controls).
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(report: Report) -> Report:
    """Return a report whose strings hold no control character."""
    return rewritten(report, _clean)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", value)
    if isinstance(value, dict):
        return {_clean(key): _clean(entry) for key, entry in value.items()}
    return [_clean(entry) for entry in value] if isinstance(value, list) else value
