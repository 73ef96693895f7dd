"""Put names and lines that come from a file into text that stays short and on one line."""

from collections.abc import Iterable, Sequence

NAME_MOST = 120
"""Characters of a name that are shown."""


def shown(name: str) -> str:
    """Return a name as it can be printed: control characters escaped, a long one cut."""
    text = name if name.isprintable() and name else repr(name)
    return text if len(text) <= NAME_MOST else f"{text[:NAME_MOST]}…"


def listed(names: Sequence[str], most: int = 3) -> str:
    """Return the first names, and how many more there are."""
    text = ", ".join(shown(name) for name in names[:most])
    return f"{text} and {len(names) - most} more" if len(names) > most else text


def capped(lines: Iterable[str], most: int = 20) -> list[str]:
    """Return the first lines, and a last one that says how many were left out."""
    kept: list[str] = []
    more = 0
    for line in lines:
        if len(kept) < most:
            kept.append(line)
        else:
            more += 1
    return [*kept, f"{more} more of this kind"] if more else kept


def count(number: int, noun: str) -> str:
    """Return a number with its noun, which takes an s unless it is one."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
