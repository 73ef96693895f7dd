"""A look at one checkpoint: what it is, and its numbers where they are asked for; one that is damaged says so."""

import dataclasses

import msgspec
from msgspec.structs import replace

from gpudoctor.checkpoint.description.survey import describe
from gpudoctor.checkpoint.formats.damaged import damaged
from gpudoctor.checkpoint.formats.paths import Named
from gpudoctor.checkpoint.formats.reader import read
from gpudoctor.checkpoint.tree import Heard, Unreadable
from gpudoctor.facts import CheckpointFile, Format
from gpudoctor.report import Say
from gpudoctor.text import percent


@dataclasses.dataclass
class Looked:
    """What was seen of one checkpoint."""

    file: CheckpointFile
    others: dict[str, msgspec.Struct] = dataclasses.field(default_factory=dict)
    """What a look at its numbers and a comparison showed, by topic."""
    whole: bool = True
    """Whether it could be read, and so be compared."""
    lost: str | None = None
    """Why it, or a part of it, cannot be read, in one line."""

    def note(self, text: str) -> None:
        """Add a note to what is known of the file."""
        self.file = replace(self.file, notes=(*self.file.notes, text))


def look(named: Named, say: Say, *, values: bool = False, verify: bool = False) -> Looked:
    """Look at a checkpoint; one that cannot be read says so in its notes, and keeps no other from being looked at."""
    say(f"reading {named.shown}")
    try:
        checkpoint = read(named.path)
        file = describe(checkpoint, verify=verify, heard=_percent(say, f"reading {named.shown}"))
    except Unreadable as error:
        return _unread(named, str(error))
    seen = Looked(file if named.shown == named.path else replace(file, path=named.shown))
    if values:
        from gpudoctor.checkpoint.formats.values import look_at_values

        heard = _percent(say, f"looking at the numbers of {named.shown}")
        try:
            seen.others["values"] = look_at_values(checkpoint, heard)
        except Unreadable as error:
            _lose(seen, named, "its numbers were not looked at", str(error))
    return seen


def _percent(say: Say, doing: str) -> Heard:
    """Return what says how much of something is done, of bytes done and all bytes: ``reading b.pt: 37 %``."""
    return lambda done, size: say(f"{doing}: {percent(done, size)}")


def _unread(named: Named, reason: str) -> Looked:
    """Return what is known of a file that cannot be read: that it is damaged, where it was a checkpoint."""
    broken = damaged(named.path, reason)
    if broken is not None:
        return Looked(replace(broken, path=named.shown), whole=False)
    seen = Looked(CheckpointFile(path=named.shown, kind=Format.UNKNOWN, unread=True), whole=False)
    _lose(seen, named, "not read", reason)
    return seen


def _lose(seen: Looked, named: Named, what: str, reason: str) -> None:
    """Note why something cannot be read, in a line with the name that the user knows the file by."""
    seen.lost = reason.replace(named.path, named.shown, 1)
    seen.note(f"{what}: {reason.removeprefix(named.path + ': ')}")
