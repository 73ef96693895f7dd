"""Where a text comes from: a file or standard input, read up to a limit, or one line that says why not."""

import sys

from gpudoctor.bad_input import BadInput
from gpudoctor.text import one_line

LIMIT = 64 * 1024 * 1024
"""Bytes. A report has some 20,000, a report with a long log a few million."""


class Unreadable(BadInput):
    """The text is one clear line, safe to print on a terminal."""

    def __init__(self, text: str) -> None:
        super().__init__(one_line(text))


def name_of(path: str) -> str:
    """Return what to call a source in a message."""
    return "standard input" if path == "-" else path


def read_bytes(path: str) -> bytes:
    """Read a file, or standard input for ``-``; never more than the limit and one byte."""
    try:
        if path == "-":
            if sys.stdin is None:
                raise Unreadable("it is closed")
            data = sys.stdin.buffer.read(LIMIT + 1)
        else:
            with open(path, "rb") as file:
                data = file.read(LIMIT + 1)
    except OSError as error:
        raise Unreadable(f"cannot be read: {error.strerror or type(error).__name__}") from None
    except ValueError:  # a NUL in the path, or a closed standard input
        raise Unreadable("cannot be read: no such file can exist") from None
    if len(data) > LIMIT:
        raise Unreadable("larger than 64 MiB: no report is")
    return data


def decode(data: bytes, errors: str) -> str:
    """Turn bytes into text: UTF-8, or UTF-16 with its mark, as PowerShell's ``>`` writes it.

    `errors` is ``strict`` for JSON, ``replace`` for text that people pasted.
    """
    encoding = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8-sig"
    try:
        text = data.decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise Unreadable(f"not {error.encoding.upper()} text at byte {error.start}") from None
    if "\0" in text:
        raise Unreadable("a binary file, no report")
    return text
