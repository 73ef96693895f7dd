"""Standard output and error, and the files of ``-o``: how text gets there."""

import errno
import os
import stat
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from gpudoctor.text import one_line

if TYPE_CHECKING:
    from rich.console import Console


def warn(line: str) -> None:
    """Say something on standard error, on one line."""
    print(f"gpudoctor: {one_line(line)}", file=sys.stderr)


def make_console(file: Any) -> "Console":
    """Make a console that wraps on a terminal and nowhere else."""
    from rich.console import Console

    terminal = file.isatty()
    return Console(file=file, highlight=False, markup=False, emoji=False, width=None if terminal else 10_000)


def put(text: str) -> None:
    """Write text to standard output; what its encoding cannot hold is escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    try:
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        silence(sys.stdout)
        raise click.UsageError(f"standard output: {error.strerror or error}") from None


def silence(stream: TextIO) -> None:
    """Let what is written to a stream vanish, and what is left in its buffer: it must not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def unwritable(path: str) -> str | None:
    """Return why nothing can be written to a path; ``None`` where something can."""
    folder = Path(path).resolve().parent
    try:
        mode = os.stat(path).st_mode
    except OSError:
        mode = None
    if mode is None or stat.S_ISREG(mode):
        return None if os.access(folder, os.W_OK) and folder.is_dir() else "the folder cannot be written to"
    if stat.S_ISDIR(mode):
        return "it is a folder"
    return None if _takes(mode) else "it is neither a file nor anything that takes text"


def _takes(mode: int) -> bool:
    """Return whether something that is no file takes text: a terminal or ``/dev/null``, a pipe."""
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def write(path: str, text: str) -> None:
    """Write a file whole or not at all; what is a device or a pipe stays one, and is written to."""
    try:
        if os.path.exists(path) and _takes(os.stat(path).st_mode):
            # Without waiting for whoever may read a pipe one day: that there is nobody is an error at once.
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
            os.set_blocking(descriptor, True)
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(text)
        else:
            _replace(Path(path).resolve(), text)
    except OSError as error:
        reason = "nobody reads it" if error.errno == errno.ENXIO else error.strerror or error
        raise click.UsageError(f"-o {path}: {reason}") from None


def _replace(target: Path, text: str) -> None:
    import tempfile

    descriptor, name = tempfile.mkstemp(prefix=".gpudoctor-", dir=target.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        # mkstemp makes files for the owner alone; a new file gets what the user's umask allows.
        os.umask(mask := os.umask(0))
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
