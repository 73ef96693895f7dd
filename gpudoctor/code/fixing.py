"""Mend what can be mended in the source of scripts: shown as a diff, or written, each file whole or not at all."""

import ast
import contextlib
import difflib
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from gpudoctor.bad_input import BadInput
from gpudoctor.model import Finding, Severity

Examine = Callable[[Path, bytes], list[Finding]]
"""Returns the findings in a file that would hold these bytes."""


class Fixed(NamedTuple):
    """A file with what was mended in it."""

    path: Path
    name: str
    before: bytes
    after: bytes
    mended: int
    """Findings that are gone."""

    @property
    def diff(self) -> str:
        """What changes, as ``patch -p1`` takes it."""
        old, new = (
            text.decode(errors="surrogateescape").splitlines(keepends=True)
            for text in (self.before, self.after)
        )
        lines = difflib.unified_diff(old, new, f"a/{self.name}", f"b/{self.name}")
        ended = (line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
        return "".join(ended)


def refuse_without_libcst() -> None:
    """Raise `BadInput` with the command that installs what fixes need."""
    try:
        import libcst  # noqa: F401
    except ImportError:
        raise BadInput("--fix and --diff need libcst: python -m pip install 'gpudoctor[fix]'") from None


def fixed(
    path: Path,
    name: str,
    before: bytes,
    findings: Sequence[Finding],
    examine: Examine,
    *,
    unsafe: bool = False,
) -> Fixed | None:
    """Return a file with its findings mended as far as that is known, ``None`` where nothing of it is.

    What a change breaks, or does not mend after all, is not changed: the file that comes out is examined again.
    """
    from libcst import ParserSyntaxError

    from gpudoctor.code.repairs import SAFE, UNSAFE, repaired

    ids = SAFE | UNSAFE if unsafe else SAFE
    after, gone = before, 0
    for id in sorted({finding.id for finding in findings if finding.id in ids and finding.location}):
        left = _own(findings if after is before else examine(path, after), name)
        try:
            made = repaired(after, [finding for finding in left if finding.id == id])
            ast.parse(made)
        except (ParserSyntaxError, SyntaxError, ValueError, RecursionError):
            continue
        number = _mended(left, _own(examine(path, made), name), id) if made != after else 0
        if number:
            after, gone = made, gone + number
    return Fixed(path, name, before, after, gone) if gone else None


def _own(findings: Iterable[Finding], name: str) -> list[Finding]:
    return [finding for finding in findings if finding.location and finding.location.path == name]


def _mended(before: Sequence[Finding], after: Sequence[Finding], id: str) -> int:
    """Return how many findings of an id are gone; 0 where others that are above a note came in their place."""

    def loud(findings: Sequence[Finding]) -> int:
        return sum(finding.severity is not Severity.NOTE and finding.id != id for finding in findings)

    if loud(after) > loud(before):
        return 0
    return sum(finding.id == id for finding in before) - sum(finding.id == id for finding in after)


def write(file: Fixed) -> None:
    """Put a mended file in the place of the old one, which keeps its mode; a link to it stays a link.

    Raises `BadInput` where the file has changed since it was read, or cannot be written.
    """
    target = Path(os.path.realpath(file.path))
    beside = None
    try:
        mode = target.stat().st_mode
        descriptor, beside = tempfile.mkstemp(prefix=".gpudoctor-", dir=target.parent)
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(file.after)
            stream.flush()
            os.fchmod(stream.fileno(), mode & 0o7777)
            os.fsync(stream.fileno())
        if target.read_bytes() != file.before:
            raise BadInput(f"{file.name}: it has changed since it was read; it stays as it is")
        os.replace(beside, target)
        beside = None
    except OSError as error:
        raise BadInput(f"{file.name}: cannot be written: {error.strerror or error}") from None
    finally:
        if beside is not None:
            with contextlib.suppress(OSError):
                os.unlink(beside)
