"""A look at one checkpoint: what it is, and its numbers where they are asked for; one that is damaged says so."""

import dataclasses

import msgspec
from msgspec.structs import replace

from gpudoctor.checkpoint.description.survey import describe
from gpudoctor.checkpoint.formats.damaged import damaged
from gpudoctor.checkpoint.formats.paths import Named
from gpudoctor.checkpoint.formats.reader import read
from gpudoctor.checkpoint.tree import Checkpoint, Heard, Unreadable
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
    seen, checkpoint = _read(named, verify, _percent(say, f"reading {named.shown}"))
    if checkpoint is not None and values:
        _values(seen, checkpoint, named, _percent(say, f"looking at the numbers of {named.shown}"))
    return seen


def _percent(say: Say, doing: str) -> Heard:
    """Return what says how much of something is done, of bytes done and all bytes: ``reading b.pt: 37 %``."""
    return lambda done, size: say(f"{doing}: {percent(done, size)}")


def _read(named: Named, verify: bool, heard: Heard) -> tuple[Looked, Checkpoint | None]:
    """Read a file; one that is too damaged to be read, yet was a checkpoint, is described as such."""
    try:
        checkpoint = read(named.path)
        file = describe(checkpoint, verify=verify, heard=heard)
        return Looked(file if named.shown == named.path else replace(file, path=named.shown)), checkpoint
    except Unreadable as error:
        broken = damaged(named.path, str(error))
        if broken is not None:
            return Looked(replace(broken, path=named.shown), whole=False), None
        nothing = CheckpointFile(path=named.shown, kind=Format.UNKNOWN, unread=True)
        seen = Looked(nothing, whole=False, lost=_line(named, error))
        seen.note(f"not read: {str(error).removeprefix(named.path + ': ')}")
        return seen, None


def _line(named: Named, error: Exception) -> str:
    """Say why something cannot be read, with the name that the user knows it by."""
    return str(error).replace(named.path, named.shown, 1)


def _values(seen: Looked, checkpoint: Checkpoint, named: Named, heard: Heard) -> None:
    from gpudoctor.checkpoint.formats.values import look_at_values

    try:
        seen.others["values"] = look_at_values(checkpoint, heard)
    except Unreadable as error:
        seen.lost = _line(named, error)
        seen.note(f"its numbers were not looked at: {str(error).removeprefix(named.path + ': ')}")
