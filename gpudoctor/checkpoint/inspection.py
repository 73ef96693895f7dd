"""Look at checkpoints: read them, look at their numbers, compare them, and examine what is known of them."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from gpudoctor.bad_input import BadInput
from gpudoctor.checkpoint.formats.paths import STANDARD_INPUT, Named, paths_of
from gpudoctor.checkpoint.tree import Checkpoint, Heard, Unreadable
from gpudoctor.diagnose import diagnose
from gpudoctor.facts import CheckpointFile, Format
from gpudoctor.model import Check, Source
from gpudoctor.registry import Registry
from gpudoctor.report import Report, Say
from gpudoctor.snapshot import CHECKPOINT, Snapshot
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


def inspect(
    *paths: str | Path,
    values: bool = False,
    verify: bool = False,
    against: str | None = None,
    arguments: Mapping[str, str] | None = None,
    python: str | None = None,
    checks: Registry | Iterable[Path] = (),
    say: Say = lambda doing: None,
    warn: Say = lambda unread: None,
) -> Report:
    """Say what is in checkpoints, and what is wrong with them; nothing in them is run.

    A path is a file, a folder of a sharded or distributed checkpoint or of several files, or ``-`` for standard input.
    `values` reads every number, `verify` compares checksums, `against` names another checkpoint or a model
    (``package.module:factory``, ``file.py:Class``) that the patient `python` builds with `arguments`. `checks` are
    folders of local check files. `say` is told what is being done, `warn` why a file that was named cannot be read.
    Raises `BadInput` where none can be, or where there is nothing to compare.

        >>> gpudoctor.inspect("model.pt", against="net.py:Net").verdict.sentence
    """
    if against is None and (arguments or python is not None):
        raise BadInput("--arg and --python are for the model of --against, which is not given")
    registry = Registry.of(checks)
    with paths_of([str(path) for path in paths]) as named:
        looked = [look(each, say, values=values, verify=verify) for each in named]
        if against is not None:
            say(f"comparing with {against}")
            _compare([seen for seen in looked if seen.whole], len(named), against, arguments, python)
    unread = [(each, seen.lost) for each, seen in zip(named, looked, strict=True) if seen.lost]
    if len(unread) == len(named):
        raise BadInput(str(unread[0][1]))
    for reason in (reason for each, reason in unread if each.asked):
        warn(str(reason))
    report = diagnose(Snapshot(facts_of(looked)), knowing(registry), registry.failed, registry)
    report.command = "checkpoint inspect"
    compared = against is None or any("comparison" in seen.others for seen in looked)
    if not compared and not report.findings:
        raise BadInput(f"none of {len(named)} files holds a state dict that could be compared")
    return report


def facts_of(looked: Iterable[Looked]) -> dict[str, msgspec.Struct]:
    """Return what was seen by topic: ``checkpoint``, ``values`` and ``comparison``, then ``checkpoint.2`` ..."""
    facts: dict[str, msgspec.Struct] = {}
    for number, seen in enumerate(looked, 1):
        suffix = f".{number}" if number > 1 else ""
        topics: dict[str, msgspec.Struct] = {"checkpoint": seen.file} | seen.others
        facts |= {topic + suffix: topics[topic] for topic in CHECKPOINT if topic in topics}
    return facts


def knowing(registry: Registry) -> list[Check]:
    """Load the checks that can know a checkpoint: those of that family, and all that are the site's own."""
    ids = [id for id, (name, _) in registry.modules.items() if ".checkpoint." in name or registry.is_site(id)]
    return [check for check in registry.checks(ids) if Source.CHECKPOINT in check.functions]


def look(named: Named, say: Say, *, values: bool, verify: bool) -> Looked:
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
    from gpudoctor.checkpoint.description.survey import describe
    from gpudoctor.checkpoint.formats.damaged import damaged
    from gpudoctor.checkpoint.formats.reader import read

    try:
        checkpoint = read(named.path)
        file = describe(checkpoint, verify=verify, heard=heard)
        return Looked(replace(file, path=named.shown)), checkpoint
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


def _compare(
    looked: Sequence[Looked],
    named: int,
    target: str,
    arguments: Mapping[str, str] | None,
    python: str | None,
) -> None:
    """Compare what was looked at with one target; of several files those that have a state dict.

    Raises `BadInput` where the target is at fault, or where there is nothing to compare in the one file that was named.
    """
    from gpudoctor.checkpoint.comparison.target import compare_all

    chosen = [seen for seen in looked if named == 1 or seen.file.state_dicts]
    comparisons = compare_all([seen.file for seen in chosen], target, arguments, python) if chosen else []
    for seen, found in zip(chosen, comparisons, strict=True):
        nameless = seen.file.path == STANDARD_INPUT  # there is no file that could be named
        seen.others["comparison"] = replace(found, fix_line="") if nameless else found
    for seen in looked:
        if "comparison" not in seen.others:
            seen.note("it holds no state dict, and is not compared")
