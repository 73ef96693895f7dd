"""What ``re`` compiled, kept from one run to the next as Python keeps compiled modules.

Compiling takes a third of the time of `explain` for a short log. Python has no public way to keep a pattern: what its
compiler hands to its matcher is kept here, for this very Python, and only where the matcher made the same pattern of
it. Whatever is not as expected is compiled as ever.
"""

import contextlib
import os
import re
import sys
from array import array
from functools import cache
from pathlib import Path
from typing import NamedTuple

MOST_BYTES = 8 << 20
"""Of the file; all patterns of gpudoctor together take a few megabytes."""


class Parts(NamedTuple):
    """What Python's compiler makes of a pattern."""

    flags: int
    code: bytes
    groups: int
    names: dict[str, int]


class _Kept:
    """The patterns that were compiled, and the file that they are kept in; without one, nothing is kept."""

    def __init__(self) -> None:
        self.file: Path | None = None
        self.parts: dict[str, Parts] = {}
        self.new: dict[str, re.Pattern[str]] = {}


_kept = _Kept()


@cache
def compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return what ``re.compile`` does. The pattern is gpudoctor's own, never one made of what a user gave.

    Raises:
        re.error: as ``re.compile`` does.

    """
    name = f"{flags:d} {pattern}"
    parts = _kept.parts.get(name)
    if parts is not None:
        with contextlib.suppress(Exception):  # somebody edited the file
            return _put_together(pattern, parts)
    made = re.compile(pattern, flags)
    if _kept.file is not None:
        _kept.new[name] = made
    return made


def recall() -> None:
    """Read what earlier runs kept; where there is no folder for it, nothing is kept."""
    own = os.environ.get("HOME")
    home = os.environ.get("XDG_CACHE_HOME") or (os.path.join(own, ".cache") if own else None)
    if not home or sys.implementation.name != "cpython":
        return
    _kept.file = Path(home, "gpudoctor", f"patterns-{sys.implementation.cache_tag}-{sys.hexversion:x}")
    from msgspec import msgpack  # not for --help

    with contextlib.suppress(Exception):  # none yet, another's, or no longer whole
        packed = _kept.file.read_bytes()
        _kept.parts = msgpack.decode(packed, type=dict[str, Parts]) if len(packed) < MOST_BYTES else {}


def keep() -> None:
    """Write what is new in one step, so that of two that write at once one is whole; a disk that refuses is fine."""
    if _kept.file is None or not _kept.new:
        return
    new = {}
    for name, made in _kept.new.items():
        with contextlib.suppress(Exception):  # another Python's compiler
            parts = _taken_apart(made.pattern, int(name.partition(" ")[0]))
            if _put_together(made.pattern, parts) == made:
                new[name] = parts
    if not new:
        return  # this Python's compiler is another one: each run would write the file
    from msgspec import msgpack

    packed = msgpack.encode(_kept.parts | new)
    if len(packed) >= MOST_BYTES:  # with those of older versions: begin anew
        packed = msgpack.encode(new)
    beside = _kept.file.with_name(_kept.file.name + os.urandom(6).hex())
    try:
        beside.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(packed)
        beside.replace(_kept.file)
    except OSError:
        with contextlib.suppress(OSError):
            beside.unlink()


def _taken_apart(pattern: str, flags: int) -> Parts:
    """Return what Python's own compiler makes of a pattern."""
    from re import _compiler, _parser  # type: ignore[attr-defined]  # of Python 3.11 and later

    tree = _parser.parse(pattern, flags)
    code = array("I", map(int, _compiler._code(tree, flags)))
    return Parts(int(flags | tree.state.flags), code.tobytes(), tree.state.groups, dict(tree.state.groupdict))


def _put_together(pattern: str, parts: Parts) -> re.Pattern[str]:
    """Return the pattern that Python's matcher makes of that; it refuses a code that is none."""
    import _sre  # type: ignore[import-not-found]

    names: list[str | None] = [None] * parts.groups
    for name, number in parts.names.items():
        names[number] = name
    code = memoryview(parts.code).cast("I").tolist()
    made: re.Pattern[str] = _sre.compile(
        pattern, parts.flags, code, parts.groups - 1, parts.names, tuple(names)
    )
    return made
