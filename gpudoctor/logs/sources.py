"""Open what may hold a log: files, packed files, folders of them, a pipe; and tell which rank's it is by its name."""

import codecs
import os
import re
import stat
import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import BinaryIO

import msgspec
from msgspec import Struct

from gpudoctor.bad_input import BadInput
from gpudoctor.literals import Finder
from gpudoctor.logs.prefixes import since_new_year
from gpudoctor.logs.scan import Kept, Stream, scan
from gpudoctor.patterns import late_pattern
from gpudoctor.text import encodable

FILES_MOST = 5000
"""Files of a folder that are read: a thousand ranks with their output, errors and error files."""
ATTEMPT = late_pattern(r"attempt_\d+/(\d{1,5})/[^/]+$")
"""torchrun's ``--log-dir``: RUN/attempt_0/RANK/stderr.log."""
RANK = late_pattern(r"(?:^|[^a-z])rank[-_=. ]?(\d{1,5})(?!\d)[^/]*$|(?:^|/)rank[-_=. ]?(\d{1,5})(?:/[^/]*)?$")
LOG = late_pattern(
    r"(?:\.(?:log|out|err|txt|stdout|stderr|output)|(?:^|[._-])(?:log|out|err|stdout|stderr))(?:[._-]?\d+)?(?:\.gz)?$"
)
ERROR_BEGIN = b'{"message"'
ERROR_FILE = late_pattern(r"error\w*\.json$|_error\.json$")
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class Unreadable(BadInput):
    """A log that cannot be read; the text is one line that says why."""


class Opened(Struct):
    """What was read of one log."""

    name: str
    rank: int | None
    kept: Kept
    seconds: float | None = None
    """When it was written, where the file as a whole says so; since the beginning of the year."""


def read_all(
    paths: list[str], find: Finder, skip: Callable[[str], None] = lambda reason: None
) -> Iterator[Opened]:
    """Read every log that is named, those of folders in the order of their names; raises `Unreadable`.

    `skip` is told in a line of what lies in a folder and cannot be read: one file must not hide the others.
    """
    for path in paths:
        if path == "-":
            if sys.stdin is None:
                raise Unreadable("standard input: it is closed")
            yield Opened("standard input", None, _scanned(sys.stdin.buffer, "standard input", find))
        elif os.path.isdir(path):
            yield from _folder(path, find, skip)
        else:
            yield _file(path, path, find)


def _folder(path: str, find: Finder, skip: Callable[[str], None]) -> Iterator[Opened]:
    """Read the logs of a folder: torchrun's ``--log-dir`` tree, or any other."""
    found = sorted(
        os.path.join(top, name)
        for top, _, names in os.walk(path)
        for name in names
        if LOG.search(name) or ERROR_FILE.search(name)
    )
    if len(found) > FILES_MOST:
        skip(f"{path}: {len(found)} logs; the first {FILES_MOST} are read")
    read = 0
    for name in found[:FILES_MOST]:
        if os.path.isfile(name) and os.path.getsize(name):
            try:
                yield _file(name, os.path.relpath(name, path), find)
                read += 1
            except Unreadable as error:
                skip(f"{error}; left out")
    if not read:
        raise Unreadable(
            f"{path}: no log in this folder (looked for *.log, *.out, *.err, *.txt, stdout, stderr, error.json)"
        )


def _file(path: str, name: str, find: Finder) -> Opened:
    name = encodable(name)
    try:
        kind = os.stat(path).st_mode
        if not (stat.S_ISREG(kind) or stat.S_ISFIFO(kind) or stat.S_ISCHR(kind)):
            raise Unreadable(f"{path}: neither a file nor a pipe")
        with open(path, "rb") as file:
            if not stat.S_ISREG(kind):
                return Opened(name, _rank(path), _scanned(file, path, find))
            begin = file.read(len(ERROR_BEGIN))
            if begin == ERROR_BEGIN and (error := _error_file(begin + file.read(1 << 20))):
                lines, seconds = error
                return Opened(name, _rank(path), Kept(lines, len(lines), 0), seconds)
            file.seek(0)
            stream = _Bounded(file, os.fstat(file.fileno()).st_size)
            return Opened(name, _rank(path), _scanned(stream, path, find))
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from None


def _scanned(stream: Stream, name: str, find: Finder) -> Kept:
    begin = stream.read(8192)
    whole: Stream = _Rejoined(begin, stream)
    if begin[:2] == b"\x1f\x8b":
        unpacked = _Unpacked(whole)
        try:
            begin = unpacked.read(8192)
        except (OSError, *unpacked.damage) as error:
            raise Unreadable(f"{name}: damaged gzip file ({error})") from None
        whole = _Rejoined(begin, unpacked)
    if begin[:2] in UTF16:
        return scan(_Recoded(whole), find)
    if _binary(begin):
        raise Unreadable(f"{name}: a binary file, not a log")
    return scan(whole, find)


def _binary(begin: bytes) -> bool:
    """Return whether bytes are no text: one in twenty or more is a control character that no terminal is sent."""
    odd = len(begin.translate(None, bytes(range(32, 256)) + b"\t\n\r\x1b\b\f\a"))
    return odd > max(8, len(begin) // 20)


def _rank(path: str) -> int | None:
    path = path.replace("\\", "/")
    match = ATTEMPT.search(path) or RANK.search(path)
    return int(next(filter(None, match.groups()))) if match else None


class _ErrorExtra(Struct):
    py_callstack: str = ""
    timestamp: str | int | float = ""


class _ErrorMessage(Struct):
    message: str = ""
    extraInfo: _ErrorExtra = msgspec.field(default_factory=_ErrorExtra)  # noqa: N815 - torchelastic's own name


class _ErrorFile(Struct):
    message: _ErrorMessage | str


def _error_file(data: bytes) -> tuple[list[tuple[int, str]], float | None] | None:
    """Read what torchelastic's `record` leaves (TORCHELASTIC_ERROR_FILE): the exception, its traceback, the time."""
    try:
        message = msgspec.json.decode(data, type=_ErrorFile).message
    except msgspec.DecodeError:
        return None
    if isinstance(message, str):
        return list(enumerate(message.splitlines(), 1)), None
    text, stamp = message.extraInfo.py_callstack or message.message, str(message.extraInfo.timestamp)
    seconds = since_new_year(datetime.fromtimestamp(int(stamp))) if re.fullmatch(r"\d{9,10}", stamp) else None
    return list(enumerate(text.splitlines(), 1)), seconds


class _Bounded:
    """A file up to the size that it had when it was opened: one that grows while it is read has an end."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self.file, self.left = file, size or 1 << 62  # files of /proc say 0

    def read(self, size: int, /) -> bytes:
        piece = self.file.read(min(size, self.left))
        self.left -= len(piece)
        return piece


class _Rejoined:
    """A stream with what was already read of it in front."""

    def __init__(self, begin: bytes, rest: Stream) -> None:
        self.begin, self.rest = begin, rest

    def read(self, size: int, /) -> bytes:
        if not self.begin:
            return self.rest.read(size)
        piece, self.begin = self.begin[:size], self.begin[size:]
        return piece


class _Unpacked:
    """What a gzip stream holds; one that is cut off ends where it is cut off."""

    def __init__(self, packed: Stream) -> None:
        import gzip  # few logs are packed
        import zlib

        self.damage = (EOFError, zlib.error, gzip.BadGzipFile)
        self.file = gzip.GzipFile(fileobj=packed, mode="rb")  # type: ignore[call-overload]
        self.any = False

    def read(self, size: int, /) -> bytes:
        try:
            piece: bytes = self.file.read1(size)  # what is there: a cut file fails behind it
        except self.damage:
            if not self.any:
                raise
            return b""
        self.any = self.any or bool(piece)
        return piece


class _Recoded:
    """UTF-16, as PowerShell's ``>`` writes it, turned into UTF-8."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.decoder = codecs.getincrementaldecoder("utf-16")("replace")

    def read(self, size: int, /) -> bytes:
        piece = self.stream.read(size)
        text = self.decoder.decode(piece, final=not piece)
        return text.encode() if text or not piece else self.read(size)
