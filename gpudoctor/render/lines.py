"""Lines for human eyes: their colours, and how they wrap on a terminal and nowhere else."""

from rich.console import Console
from rich.text import Text

STYLES = {
    "error": "bold red",
    "warning": "bold yellow",
    "note": "bold cyan",
    "broken": "bold red",
    "suspect": "bold yellow",
    "unknown": "magenta",
    "healthy": "bold green",
    "ok": "green",
}
INDENT = 9
"""Columns before what belongs to a line above."""


def hang(console: Console, text: Text, indent: int) -> None:
    """Print with the lines after the first indented; what is not a terminal gets one long line."""
    if not console.is_terminal or len(text) <= console.width:
        console.print(text, soft_wrap=True)
        return
    for number, line in enumerate(text.wrap(console, console.width - indent)):
        line.rstrip()
        console.print(Text(" " * indent if number else "").append_text(line), soft_wrap=True)


def block(console: Console, text: str, style: str = "") -> None:
    """Print lines that belong to the one above."""
    for line in text.splitlines():
        hang(console, Text(" " * INDENT + line, style), INDENT)
