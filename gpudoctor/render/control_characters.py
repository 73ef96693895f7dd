"""The control characters in strings from strangers: a terminal or a ticket must not obey them."""

from typing import Any

from gpudoctor.report import Report
from gpudoctor.snapshot import rewritten
from gpudoctor.text import harmless


def harmless_report(report: Report) -> Report:
    """Return a report whose strings hold no control characters but tabs and line feeds."""
    return rewritten(report, _clean)


def _clean(value: Any) -> Any:
    if isinstance(value, str):
        return harmless(value, keep="\t\n")
    if isinstance(value, dict):
        return {_clean(key): _clean(entry) for key, entry in value.items()}
    return [_clean(entry) for entry in value] if isinstance(value, list) else value
