"""The checkpoints that a command line names."""

import contextlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterator

import rich_click as click

BLOCK = 1 << 20
"""Bytes of standard input that are read at a time."""


@contextlib.contextmanager
def paths_of(files: tuple[str, ...]) -> Iterator[list[str]]:
    """Give the paths to read: of a plain folder the checkpoints in it, of standard input a copy of it."""
    with contextlib.ExitStack() as stack:
        found: list[str] = []
        for name in files:
            if name == "-":
                found.append(stack.enter_context(_standard_input()))
            else:
                found += _in_folder(name) if os.path.isdir(name) else [name]
        yield found


def _in_folder(name: str) -> list[str]:
    """Return a folder that is a checkpoint itself, or the checkpoints in it."""
    from gpudoctor.checkpoint.damaged import SUFFIXES

    try:
        inside = sorted(os.listdir(name))
    except OSError as error:
        raise click.UsageError(f"{name}: {error.strerror or error}") from None
    if ".metadata" in inside or any(entry.endswith(".index.json") for entry in inside):
        return [name]
    paths = [os.path.join(name, entry) for entry in inside if entry.endswith(SUFFIXES)]
    return [path for path in paths if os.path.isfile(path)] or [name]


@contextlib.contextmanager
def _standard_input() -> Iterator[str]:
    """Give a path under which standard input can be read from any place."""
    if stat.S_ISREG(os.fstat(sys.stdin.fileno()).st_mode) and os.path.exists("/dev/stdin"):
        yield "/dev/stdin"
        return
    with tempfile.NamedTemporaryFile(prefix="gpudoctor-") as file:
        try:
            while block := sys.stdin.buffer.read(BLOCK):
                file.write(block)
            file.flush()
        except OSError as error:
            raise click.UsageError(f"standard input: {error.strerror or error}") from None
        yield file.name
