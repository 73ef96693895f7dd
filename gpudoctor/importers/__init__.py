"""Other people's text -> facts: a saved report, a ticket that holds one, what collect_env and other tools print.

What a text is shows in its content, whatever its file is called. Whatever stands in it, reading gives facts
or one clear line, in time linear in its size.
"""

import re
from dataclasses import dataclass

from msgspec import Struct

from gpudoctor.importers.machine_text import nothing
from gpudoctor.importers.machine_text import read as read_machine
from gpudoctor.importers.report import read as read_report
from gpudoctor.importers.source import Unreadable, decode, name_of, read_bytes
from gpudoctor.importers.ticket import read as read_ticket
from gpudoctor.importers.unread import why
from gpudoctor.report import Report
from gpudoctor.snapshot import Snapshot

__all__ = ["Imported", "Unreadable", "Unrecognised", "read"]

_OBJECT = re.compile(r"\s*\{(?!\s*')")  # Python prints dictionaries with another quote


@dataclass(frozen=True)
class Imported:
    """What was read."""

    snapshot: Snapshot
    report: Report | None
    """The saved report, where the text is or holds one; its facts are typed."""
    text: str = ""
    """The text itself, where it is another tool's: what was complained of in it is no fact."""


class Unrecognised(Unreadable):
    """Nothing in a text is the output of a tool that is known here; what was said in it may still be a symptom."""

    def __init__(self, reason: str, imported: Imported) -> None:
        super().__init__(reason)
        self.imported = imported


def read(path: str, topics: dict[str, type[Struct]]) -> Imported:
    """Read a file, or standard input for ``-``; raises `Unreadable`, whose text begins with the file's name.

    `topics` are the types of the facts that are known here (`Registry.topics`); others in a report are left
    out.
    """
    try:
        return _read(read_bytes(path), topics)
    except Unrecognised as error:
        raise Unrecognised(f"{name_of(path)}: {error}", error.imported) from None
    except Unreadable as error:
        raise Unreadable(f"{name_of(path)}: {error}") from None


def _read(data: bytes, topics: dict[str, type[Struct]]) -> Imported:
    text = decode(data, "replace")
    if not text.strip():
        raise Unreadable("empty")
    is_json = _OBJECT.match(text) is not None
    saved = read_report(decode(data, "strict"), topics) if is_json else read_ticket(text, topics)
    if saved is not None:
        return Imported(Snapshot(saved.facts, saved.probes), saved)
    snapshot = read_machine(text, topics)
    if snapshot is None:
        raise Unrecognised(
            why(text),
            Imported(nothing(topics), None, text),
        )
    return Imported(snapshot, None, text)
