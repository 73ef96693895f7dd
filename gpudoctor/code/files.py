"""Which files are examined: those that are named, and those of folders that git would not ignore."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gpudoctor.bad_input import BadInput
from gpudoctor.text import encodable

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

STANDARD_INPUT = "-"
SUFFIXES = (".py", ".ipynb")
LIBRARIES = frozenset(("__pycache__", "__pypackages__", "node_modules", "site-packages", "dist-packages"))
"""Folders of what others wrote; one that is named itself is examined all the same."""
ENVIRONMENT = "pyvenv.cfg"
"""A folder that holds this file is a virtual environment (PEP 405)."""


class Chosen(NamedTuple):
    """A file that is to be examined."""

    path: Path
    """Absolute, with its links as they were given."""
    name: str
    """What findings call it: relative to the working folder where it lies there, as it was given elsewhere."""


def chosen(
    given: Sequence[str | Path], exclude: Sequence[str] = (), below: Path | None = None
) -> list[Chosen]:
    """Return the files that are meant, each once, those of a folder in the order of their names.

    `exclude` are patterns as in a ``.gitignore`` that stands in the folder `below`; like those files they hold for what
    folders contain, not for a file that is named itself. Raises `BadInput` for a path that does not exist.
    """
    seen: set[str] = set()
    found = []
    for path in given:
        for file in _files(Path(path), exclude, below):
            real = os.path.realpath(file)
            if real not in seen:
                seen.add(real)
                found.append(Chosen(Path(os.path.abspath(file)), called(file)))
    return found


def called(path: Path) -> str:
    """Return what findings call a file."""
    absolute, here = os.path.abspath(path), os.getcwd()
    return encodable(os.path.relpath(absolute) if Path(absolute).is_relative_to(here) else str(path))


def _files(path: Path, exclude: Sequence[str], below: Path | None) -> Iterator[Path]:
    if str(path) == STANDARD_INPUT:
        yield path
    elif os.path.isdir(path):
        ignored = Ignored(path, exclude, below)
        # Linked folders are not entered, as git does not: a link may lead to a cluster's data sets, or in a circle.
        errors: list[OSError] = []
        for folder, folders, names in os.walk(path, onerror=errors.append):
            inside = Path(folder)
            folders[:] = sorted(name for name in folders if _wanted(inside / name, name, ignored))
            for name in sorted(names):
                if name.endswith(SUFFIXES) and not name.startswith(".") and not ignored.file(inside / name):
                    yield inside / name
        yield from (Path(error.filename) for error in errors)  # to be named as what could not be read
    else:
        try:
            os.lstat(path)
        except PermissionError as error:
            raise BadInput(f"{path}: {error.strerror}") from None
        except OSError:
            raise BadInput(f"{path}: no such file or folder") from None
        yield path


def _wanted(path: Path, name: str, ignored: "Ignored") -> bool:
    """Return whether a folder inside another one is looked into."""
    if name.startswith(".") or name in LIBRARIES or os.path.exists(path / ENVIRONMENT):
        return False
    return not ignored.folder(path)


class Ignored:
    """What ``.gitignore`` files, and patterns of the user's, leave out below a folder."""

    def __init__(self, root: Path, exclude: Iterable[str] = (), below: Path | None = None) -> None:
        self._specs: dict[Path, GitIgnoreSpec | None] = {}
        self._above: dict[Path, list[Path]] = {}
        self.top = Path(os.path.abspath(root))
        repository = next((p for p in (self.top, *self.top.parents) if os.path.exists(p / ".git")), None)
        self.first = repository or self.top
        patterns = list(exclude)
        self._excluded = (Path(os.path.abspath(below or self.top)), _spec(patterns)) if patterns else None
        if self.top != self.first and self.folder(self.top):
            # It is named itself: what leaves it out as a whole does not count, nor what stands in that file besides.
            self.first, self._above, self._excluded = self.top, {}, None

    def folder(self, path: Path) -> bool:
        """Return whether a folder is left out."""
        return self._out(path, "/")

    def file(self, path: Path) -> bool:
        """Return whether a file is left out."""
        return self._out(path, "")

    def _out(self, path: Path, end: str) -> bool:
        absolute = Path(os.path.abspath(path))
        if self._excluded and self._match(self._excluded[1], absolute, self._excluded[0], end):
            return True
        for folder in self._folders(absolute.parent):
            spec = self._at(folder)
            said = self._match(spec, absolute, folder, end) if spec is not None else None
            if said is not None:
                return said
        return False

    def _folders(self, folder: Path) -> list[Path]:
        """Return the folders whose ``.gitignore`` counts, the nearest first."""
        if folder not in self._above:
            ways = (folder, *folder.parents)
            self._above[folder] = [p for p in ways if p.is_relative_to(self.first)]
        return self._above[folder]

    def _at(self, folder: Path) -> "GitIgnoreSpec | None":
        if folder not in self._specs:
            try:
                text = (folder / ".gitignore").read_text(errors="replace")
            except OSError:
                text = ""
            self._specs[folder] = _spec(text.splitlines()) if text.strip() else None
        return self._specs[folder]

    @staticmethod
    def _match(spec: "GitIgnoreSpec", path: Path, folder: Path, end: str) -> bool | None:
        """Return whether patterns leave a path out, or take it in again; ``None`` where they do not speak of it."""
        if not path.is_relative_to(folder):
            return None
        return spec.check_file(f"{path.relative_to(folder).as_posix()}{end}").include


def _spec(lines: list[str]) -> "GitIgnoreSpec":
    """Return what patterns mean; a line that git cannot read either is left out."""
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines)
    except (ValueError, re.error):
        return GitIgnoreSpec.from_lines([line for line in lines if _readable(line)])


def _readable(line: str) -> bool:
    from pathspec import GitIgnoreSpec

    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    return True
