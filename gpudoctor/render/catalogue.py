"""The list of checks, as a table."""

from collections.abc import Sequence

from rich.table import Table

from gpudoctor.catalogue import Entry


def table(entries: Sequence[Entry]) -> Table:
    """Return a row for each check; titles alone are broken where a line is too long."""
    drawn = Table(box=None, pad_edge=False, header_style="bold")
    for name in Entry.__struct_fields__:
        drawn.add_column(name, no_wrap=name != "title")
    for entry in entries:
        drawn.add_row(entry.id, entry.family, entry.severity, ", ".join(entry.evidence), entry.title)
    return drawn
