"""What a project asks for in its pyproject.toml, ``[tool.gpudoctor]``."""

import difflib
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from gpudoctor.bad_input import BadInput
from gpudoctor.text import one_line

NAME = "pyproject.toml"


class Settings(Struct, frozen=True):
    """The table ``[tool.gpudoctor]``."""

    select: tuple[str, ...] = ()
    """Ids or families: these checks alone; all where it is empty."""
    ignore: tuple[str, ...] = ()
    """Ids or families: not these checks."""
    exclude: tuple[str, ...] = ()
    """Patterns as in a ``.gitignore`` beside that file: not these files of a folder."""
    path: Path | None = None
    """The file that it stands in."""


def settings(given: Sequence[str | Path]) -> Settings:
    """Return what the nearest pyproject.toml with such a table asks for, at or above what all paths share.

    Raises `BadInput` for one that cannot be read, and for a key or a value that means nothing.
    """
    folders = [os.path.abspath(path) for path in given if str(path) != "-"] or [os.getcwd()]
    shared = Path(os.path.commonpath(folders))
    for folder in (shared, *shared.parents):
        path = folder / NAME
        if os.path.isfile(path):  # what this user may not look at is none
            table = _table(path)
            if table is not None:
                return _settings(table, path)
    return Settings()


def _table(path: Path) -> dict[str, Any] | None:
    """Return a file's table of ours, ``None`` without one."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise BadInput(f"{path}: {one_line(str(error))}") from None
    if "gpudoctor" not in text:
        return None
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        table = tomllib.loads(text).get("tool", {}).get("gpudoctor")
    except (tomllib.TOMLDecodeError, AttributeError) as error:
        raise BadInput(f"{path}: {one_line(str(error))}") from None
    if table is not None and not isinstance(table, dict):
        raise BadInput(f"{path}: tool.gpudoctor is no table")
    return table


def _settings(table: dict[str, Any], path: Path) -> Settings:
    keys = [name for name in Settings.__struct_fields__ if name != "path"]
    for key, value in table.items():
        if key not in keys:
            near = difflib.get_close_matches(key, keys, n=1)
            meant = f"did you mean {near[0]!r}?" if near else f"it knows {', '.join(keys)}"
            raise BadInput(f"{path}: [tool.gpudoctor] has no key {key!r}; {meant}")
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise BadInput(f"{path}: [tool.gpudoctor] {key} must be a list of strings, not {value!r}")
    return Settings(**{key: tuple(value) for key, value in table.items()}, path=path)
