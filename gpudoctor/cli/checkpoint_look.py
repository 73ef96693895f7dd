"""Look at one of the checkpoints that are inspected: read it, examine it, look at its numbers, compare it."""

import dataclasses
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import rich_click as click
from msgspec.structs import replace

from gpudoctor.cli.checkpoint_differences import differences
from gpudoctor.cli.checkpoint_paths import STANDARD_INPUT, Named
from gpudoctor.cli.output import telling
from gpudoctor.model import Check, CheckStatus, Finding, Result
from gpudoctor.registry import Registry

if TYPE_CHECKING:
    from gpudoctor.checkpoint import Checkpoint
    from gpudoctor.checkpoint.tree import Heard
    from gpudoctor.facts import CheckpointFile
    from gpudoctor.facts.comparison import Comparison

GUESSES = ("state-dict-prefix",)
"""What a file alone makes likely, and a comparison knows."""
GUESSES_REFUTED = (*GUESSES, "state-dict-mixed-prefix")
"""What is no fault of a file that loads: the model itself has such names."""


@dataclasses.dataclass(frozen=True)
class Asked:
    """What is asked for beyond a look at the file."""

    values: bool = False
    verify: bool = False
    against: str | None = None
    arguments: dict[str, str] = dataclasses.field(default_factory=dict)
    python: str | None = None


@dataclasses.dataclass
class Looked:
    """What was seen of a checkpoint."""

    file: "CheckpointFile"
    findings: list[Finding] = dataclasses.field(default_factory=list)
    results: list[Result] = dataclasses.field(default_factory=list)
    values: Any = None
    comparison: "Comparison | None" = None
    lost: str | None = None
    """Why it, or a part of it, cannot be read, in one line."""

    @property
    def facts(self) -> list[tuple[str, Any]]:
        """What the report says of it, by topic."""
        topics = [("checkpoint", self.file), ("values", self.values), ("comparison", self.comparison)]
        return [(topic, fact) for topic, fact in topics if fact is not None]


def look(
    named: Named,
    asked: Asked,
    registry: Registry,
    checks: list[Check],
    say: Callable[[str], None],
    *,
    alone: bool,
) -> Looked:
    """Look at a checkpoint; one that cannot be read says so in its notes, and keeps no other from being looked at.

    Raises a usage error where the target of a comparison is at fault, or where there is nothing to compare in the one
    file (`alone`) that was named.
    """
    from gpudoctor.checkpoint.examine import examine

    say(f"reading {named.shown}")
    seen, checkpoint = _read(named, asked, telling(say, f"reading {named.shown}"))
    if seen.lost is None:
        seen.findings, seen.results = examine(seen.file, checks)
    if checkpoint is not None and asked.values:
        _values(seen, checkpoint, named, telling(say, f"looking at the numbers of {named.shown}"))
    if checkpoint is not None and asked.against is not None:
        if alone or seen.file.state_dicts:
            say(f"comparing with {asked.against}")
            _compare(seen, asked, registry)
        else:
            _note(seen, "it holds no state dict, and is not compared")
    if not alone:
        front = os.path.basename(named.shown)
        seen.findings = [replace(f, message=f"{front}: {f.message}") for f in seen.findings]
    return seen


def _read(named: Named, asked: Asked, heard: "Heard") -> "tuple[Looked, Checkpoint | None]":
    """Read a file; one that is too damaged to be read, yet was a checkpoint, is described as such."""
    from gpudoctor.checkpoint import Unreadable, read
    from gpudoctor.checkpoint.description.survey import survey
    from gpudoctor.checkpoint.formats.damaged import damaged
    from gpudoctor.facts import CheckpointFile

    try:
        checkpoint = read(named.path)
        file = survey(checkpoint)
        if asked.verify and file.kind in ("torch zip", "torchscript"):
            from gpudoctor.checkpoint.formats.checksums import verify

            file = replace(file, trouble=(*file.trouble, *verify(named.path, file.size, heard)))
        return Looked(replace(file, path=named.shown)), checkpoint
    except Unreadable as error:
        broken = damaged(named.path, str(error))
        if broken is not None:
            return Looked(replace(broken, path=named.shown)), None
        seen = Looked(CheckpointFile(path=named.shown, kind="unknown"), lost=_line(named, error))
        _note(seen, f"not read: {str(error).removeprefix(named.path + ': ')}")
        return seen, None


def _line(named: Named, error: Exception) -> str:
    """Say why something cannot be read, with the name that the user knows it by."""
    return str(error).replace(named.path, named.shown, 1)


def _note(seen: Looked, text: str) -> None:
    seen.file = replace(seen.file, notes=(*seen.file.notes, text))


def _values(seen: Looked, checkpoint: "Checkpoint", named: Named, heard: "Heard") -> None:
    from gpudoctor.checkpoint import Unreadable
    from gpudoctor.checkpoint.formats.values import look as look_at

    try:
        seen.values = look_at(checkpoint, heard)
    except Unreadable as error:
        seen.lost = _line(named, error)
        _note(seen, f"its numbers were not looked at: {str(error).removeprefix(named.path + ': ')}")


def _compare(seen: Looked, asked: Asked, registry: Registry) -> None:
    """Compare, and let what is known now take the place of what was likely."""
    from gpudoctor.checkpoint import Unreadable
    from gpudoctor.checkpoint.comparison.target import against

    assert asked.against is not None
    try:
        comparison = against(seen.file, asked.against, asked.arguments, asked.python)
    except Unreadable as error:
        raise click.UsageError(str(error)) from None
    if seen.file.path == STANDARD_INPUT:
        comparison = replace(comparison, fix_line="")  # there is no file that could be named
    found = list(differences(comparison, registry))
    over = GUESSES_REFUTED if comparison.outcome == "loads" else GUESSES
    seen.comparison = comparison
    seen.findings = [f for f in seen.findings if f.id not in over] + found
    still = {finding.id for finding in seen.findings}
    seen.results = [
        replace(r, status=CheckStatus.PASSED) if r.id in over and r.id not in still else r
        for r in seen.results
    ]
