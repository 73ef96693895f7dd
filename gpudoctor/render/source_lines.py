"""A finding in a script: its place, its line, and a mark under the column."""

from rich.console import Console
from rich.text import Text

from gpudoctor.model import Evidence, Finding, Location
from gpudoctor.render.lines import INDENT, STYLES, hang


def place(location: Location) -> str:
    """Return a place as editors and terminals jump to it: ``train.py:12:5``."""
    return f"{location.path}:{location.line}:{location.column}"


def own_line(finding: Finding) -> Evidence | None:
    """Return the evidence that is the source at the finding's own place, ``None`` where it has none."""
    first = finding.evidence[0] if finding.evidence else None
    at = finding.location
    return (
        first if first and at and first.where == f"{at.path}:{at.line}" and "\n" not in first.text else None
    )


def marked(line: str, location: Location) -> list[str]:
    """Return a line of source with its number, and the mark under its column, which counts UTF-8 bytes as ast does."""
    before = line.encode(errors="replace")[: location.column - 1].decode(errors="ignore")
    under = "".join("\t" if character == "\t" else " " for character in before)
    number = str(location.line)
    edge = f"{'':{len(number)}} | "
    return [f"{number} | {line}", f"{edge}{under}^"]


def heading(console: Console, finding: Finding, location: Location, title: str) -> None:
    """Print where a finding is, and what it is."""
    severity = finding.severity.value
    line = Text.assemble(
        (f"{place(location)}: ", "bold"), (severity, STYLES[severity]), "  ", (finding.id, "bold")
    )
    hang(console, line.append(f"   {title}"), INDENT)


def excerpt(console: Console, finding: Finding) -> None:
    """Print the source of a finding, with the mark; nothing where it has none."""
    own = own_line(finding)
    if own is None or finding.location is None:
        return
    line, mark = marked(own.text, finding.location)
    # No wrapping: the mark stands under its column.
    console.print(Text(" " * INDENT + line), soft_wrap=True)
    console.print(Text(" " * INDENT + mark, STYLES[finding.severity.value]), soft_wrap=True)
