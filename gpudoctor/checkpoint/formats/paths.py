"""The checkpoints that are named: files, what is in a folder, standard input."""

import contextlib
import dataclasses
import itertools
import os
import stat
import sys
import tempfile
from collections.abc import Iterator, Sequence

from gpudoctor.bad_input import BadInput
from gpudoctor.checkpoint.tree import BLOCK
from gpudoctor.facts.checkpoint_file import STANDARD_INPUT

STDIN = "-"
"""What standard input is named by."""
LATEST_MOST = 300
"""Bytes of DeepSpeed's file ``latest``, which names the folder of the last step."""
LEVELS = 2
"""Levels below a folder in which checkpoints are looked for, to name their folders."""
NAMED = 6


@dataclasses.dataclass(frozen=True)
class Named:
    """A path to read, and what it is called in what is said of it."""

    path: str
    shown: str
    asked: bool = True
    """Whether it was named itself, and not the folder that it is in."""


@contextlib.contextmanager
def paths_of(files: Sequence[str]) -> Iterator[list[Named]]:
    """Give the paths to read: of a plain folder the checkpoints in it, of standard input a copy of it."""
    with contextlib.ExitStack() as stack:
        found: list[Named] = []
        for name in files:
            if name == STDIN:
                found.append(Named(stack.enter_context(_standard_input()), STANDARD_INPUT))
            elif os.path.isdir(name):
                inside = _in_folder(name)
                found += [Named(path, path, asked=inside == [name]) for path in inside]
            else:
                found.append(Named(name, name))
        yield found


def _in_folder(name: str) -> list[str]:
    """Return a folder that is a checkpoint itself, or the checkpoints in it, or in DeepSpeed's last step below it.

    Raises `BadInput` that names the folders below it which hold checkpoints, where it holds none.
    """
    paths = _checkpoints(name)
    if not paths and (last := _latest(name)) is not None:
        paths = _checkpoints(last)
    if paths:
        return paths
    below = list(itertools.islice(_folders(name), NAMED + 1))
    if not below:
        return [name]  # the reader says what is missing
    listed = ", ".join(below[:NAMED]) + (" and more" if len(below) > NAMED else "")
    raise BadInput(f"{name}: no checkpoint itself; look at what is in it: {listed}")


def _checkpoints(name: str) -> list[str]:
    from gpudoctor.checkpoint.formats.damaged import SUFFIXES

    try:
        inside = sorted(os.listdir(name))
    except OSError as error:
        raise BadInput(f"{name}: {error.strerror or error}") from None
    if ".metadata" in inside or any(entry.endswith(".index.json") for entry in inside):
        return [name]
    paths = [os.path.join(name, entry) for entry in inside if entry.endswith(SUFFIXES)]
    return [path for path in paths if os.path.isfile(path)]


def _latest(name: str) -> str | None:
    """Return the folder that DeepSpeed's ``latest`` names, if it is one in this folder."""
    path = os.path.join(name, "latest")
    try:
        if not os.path.isfile(path):
            return None
        with open(path, encoding="utf-8") as file:
            step = file.read(LATEST_MOST).strip()
        folder = os.path.join(name, step)
        inside = step == os.path.basename(step) not in ("", ".", "..") and os.path.isdir(folder)
        return folder if inside else None
    except (OSError, ValueError):
        return None


def _folders(name: str, levels: int = LEVELS) -> Iterator[str]:
    """Yield the folders below one that hold checkpoints, the nearest of each branch."""
    with contextlib.suppress(OSError):
        below = sorted(entry.path for entry in os.scandir(name) if entry.is_dir(follow_symlinks=False))
        for folder in below:
            with contextlib.suppress(BadInput):
                if _checkpoints(folder):
                    yield folder
                elif levels > 1:
                    yield from _folders(folder, levels - 1)


@contextlib.contextmanager
def _standard_input() -> Iterator[str]:
    """Give a path under which standard input can be read from any place."""
    if _is_file():
        yield "/dev/stdin"
        return
    with tempfile.NamedTemporaryFile(prefix="gpudoctor-") as file:
        try:
            while block := sys.stdin.buffer.read(BLOCK):
                file.write(block)
            file.flush()
        except OSError as error:
            raise BadInput(f"{STANDARD_INPUT}: {error.strerror or error}") from None
        yield file.name


def _is_file() -> bool:
    """Return whether standard input is a file that can be opened again; raises `BadInput` where it is closed."""
    if sys.stdin is None:
        raise BadInput(f"{STANDARD_INPUT}: it is closed")
    try:
        mode = os.fstat(sys.stdin.fileno()).st_mode
    except (ValueError, OSError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadInput(f"{STANDARD_INPUT}: {reason}") from None
    return stat.S_ISREG(mode) and os.path.exists("/dev/stdin")
