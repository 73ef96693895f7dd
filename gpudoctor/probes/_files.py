"""Read small files of ``/proc`` and ``/sys``, of which any may be missing."""

from pathlib import Path


def text(path: Path) -> str:
    """Return what stands in a file, without white space around it; nothing where it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""


def number(content: str) -> int | None:
    """Return a whole number; ``None`` for ``max`` and whatever else is none."""
    return int(content) if content.removeprefix("-").isdecimal() else None


def field(content: str, name: str) -> int | None:
    """Return the number behind a name in lines of ``name number``."""
    front = f"{name} "
    return next(
        (number(line.removeprefix(front)) for line in content.splitlines() if line.startswith(front)), None
    )
