"""A source file as it is read: its text, and its tree."""

import ast
import io
import json
import re
import tokenize
import warnings
from functools import cached_property
from pathlib import Path

from gpudoctor.bad_input import BadInput
from gpudoctor.text import byte_size, one_line

MOST_BYTES = 4 * 2**20
"""A script is smaller; what is larger is generated, and its tree would take gigabytes."""
MOST_NOTEBOOK = 64 * 2**20
"""Bytes; most of a large notebook are the pictures that its cells put out."""
_OTHER_LANGUAGE = re.compile(r"\s*%%(?!capture|prun|timeit|time)")
"""A cell that is no Python; the magics named here run the rest of their cell as such."""
_MAGIC = re.compile(r"^\s*(?:[%!]|\?\w|[\w.]+\?\??\s*$)")


class Unreadable(BadInput):
    """A file is no Python that can be read; the text says which and why."""


class Source:
    """One file: its path as it is named, its text, its tree.

    Raises `Unreadable` where it cannot be decoded or parsed.
    """

    def __init__(self, path: Path, name: str, data: bytes) -> None:
        self.path, self.name = path, name
        self.notebook = name.endswith(".ipynb")
        if len(data) > (MOST_NOTEBOOK if self.notebook else MOST_BYTES):
            raise Unreadable(f"{name}: {byte_size(len(data))}, more than a script is; it was not read")
        self.cells: list[tuple[int, int]] = []
        """Of a notebook: the first line of each code cell in `text`, and the cell's number."""
        self.text = self._cells(data) if self.notebook else _decoded(data, name)
        self.tree = _parsed(self.text, name)

    @cached_property
    def lines(self) -> list[str]:
        """The text's lines, without their ends."""
        return self.text.split("\n")

    def line(self, number: int) -> str:
        """Return a line, counted from 1; empty where there is none."""
        return self.lines[number - 1] if 0 < number <= len(self.lines) else ""

    def place(self, number: int) -> tuple[str, int]:
        """Return the name and the line under which a reader finds a line: those of its cell in a notebook."""
        for first, cell in reversed(self.cells):
            if number >= first:
                return f"{self.name}:cell {cell}", number - first + 1
        return self.name, number

    def _cells(self, data: bytes) -> str:
        try:
            book = json.loads(data)
            cells = book["cells"] if "cells" in book else book["worksheets"][0]["cells"]
            kinds = [(cell["cell_type"], cell.get("source", cell.get("input", ""))) for cell in cells]
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
            raise Unreadable(
                f"{self.name}: no notebook: {one_line(f'{type(error).__name__}: {error}')}"
            ) from None
        lines: list[str] = []
        for number, (kind, source) in enumerate(kinds, 1):
            text = "".join(source) if isinstance(source, list) else str(source)
            if kind == "code" and not _OTHER_LANGUAGE.match(text):
                self.cells.append((len(lines) + 1, number))
                cell = [_plain(line) for line in text.split("\n")]
                try:
                    ast.parse("\n".join(cell))
                except (SyntaxError, ValueError, RecursionError, MemoryError):
                    cell = ["pass"] * len(cell)  # one cell with a slip does not hide the others
                lines += cell
        return "\n".join(lines) + "\n"


def _plain(line: str) -> str:
    """Return a line of a cell without what IPython alone understands."""
    return f"{line[: len(line) - len(line.lstrip())]}pass" if _MAGIC.match(line) else line


def _decoded(data: bytes, name: str) -> str:
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        return io.TextIOWrapper(io.BytesIO(data), encoding).read()
    except (SyntaxError, UnicodeError, LookupError) as error:
        raise Unreadable(f"{name}: cannot be decoded: {one_line(str(error))}") from None


def _parsed(text: str, name: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text, name)
    except SyntaxError as error:
        raise Unreadable(f"{name}:{error.lineno}: {one_line(error.msg)}{_hint(text, error)}") from None
    except (ValueError, RecursionError, MemoryError) as error:
        said = (
            "nested too deeply" if isinstance(error, (RecursionError, MemoryError)) else one_line(str(error))
        )
        raise Unreadable(f"{name}: {said}") from None


def _hint(text: str, error: SyntaxError) -> str:
    """Say what a syntax error comes from, where that is plain."""
    line = text.split("\n")[(error.lineno or 1) - 1 : error.lineno]
    if line and re.match(r"\s*(?:print\s+[^(=]|exec\s+['\"]|except\s+\w+\s*,\s*\w+\s*:)", line[0]):
        return " (this is Python 2)"
    return ""
