"""The control characters in strings from strangers: a terminal or a ticket must not obey them."""

from gpudoctor.report import Report
from gpudoctor.snapshot import rewritten
from gpudoctor.text import harmless, with_texts


def harmless_report(report: Report) -> Report:
    """Return a report whose strings hold no control characters but tabs and line feeds."""
    return rewritten(report, lambda data: with_texts(data, lambda text: harmless(text, keep="\t\n")))
