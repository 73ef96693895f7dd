"""The files that a user hands in beside the machine: each is read as what it is."""

import dataclasses
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from gpudoctor.bad_input import BadInput
from gpudoctor.facts import CheckpointFile, Given, GivenFile, GivenKind
from gpudoctor.recognition import logs_in
from gpudoctor.registry import Registry
from gpudoctor.report import Report, Say
from gpudoctor.snapshot import Snapshot


@dataclasses.dataclass
class Evidence:
    """What was read of all files."""

    given: list[GivenFile] = dataclasses.field(default_factory=list)
    explained: Report | None = None
    """What the logs show."""
    linted: Report | None = None
    """What the scripts show."""
    checkpoints: list[Struct] = dataclasses.field(default_factory=list)
    names: frozenset[str] | None = None
    """The scripts' file names; ``None`` where a folder was given."""

    def add_facts(self, snapshot: Snapshot) -> None:
        """Add what was read, and of checkpoints what is in them, to the facts of a machine."""
        if self.given:
            snapshot.facts["given"] = Given(files=tuple(self.given))
        for number, fact in enumerate(self.checkpoints, 1 + len(snapshot.all(CheckpointFile))):
            snapshot.facts["checkpoint" + (f".{number}" if number > 1 else "")] = fact

    def of(self, kind: GivenKind) -> list[str]:
        """Return the paths that are taken for one kind."""
        return [file.path for file in self.given if file.kind is kind]

    def lose(self, kind: GivenKind, reason: str, path: str | None = None) -> None:
        """Note why one file of a kind, or all of them, cannot be read."""
        self.given = [
            replace(file, unread=file.unread or reason)
            if file.kind is kind and path in (None, file.path)
            else file
            for file in self.given
        ]


def read(
    given: Sequence[GivenFile],
    registry: Registry,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    say: Say,
    warn: Say,
) -> Evidence:
    """Read files as what they were taken for; one that cannot be read says so, and keeps no other from being read.

    `only` and `skip` name checks by id or family. `say` is told what is being read, `warn` what cannot be. Raises
    `BadInput` where nothing at all can be read.
    """
    evidence = Evidence(list(given))
    readers: dict[GivenKind, Callable[[], None]] = {
        GivenKind.SCRIPT: lambda: _scripts(evidence, registry, only, skip, say, warn),
        GivenKind.LOG: lambda: _logs(evidence, registry, say, warn),
        GivenKind.CHECKPOINT: lambda: _checkpoints(evidence, say),
    }
    for kind, reader in readers.items():
        if evidence.of(kind):
            try:
                reader()
            except BadInput as error:
                evidence.lose(kind, str(error))
    reasons = list(dict.fromkeys(file.unread for file in evidence.given if file.unread))
    if all(file.unread for file in evidence.given):
        raise BadInput(reasons[0])
    for reason in reasons:
        warn(reason)
    return evidence


def _scripts(
    evidence: Evidence,
    registry: Registry,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    say: Say,
    warn: Say,
) -> None:
    from gpudoctor.code.linting import lint

    paths = evidence.of(GivenKind.SCRIPT)

    def told(reason: str) -> None:
        path = next((p for p in paths if reason.startswith(f"{os.path.relpath(p)}:")), None)
        if path is not None:
            evidence.lose(GivenKind.SCRIPT, reason, path)
        else:
            warn(reason)

    evidence.linted = lint(paths, only=only, skip=skip, checks=registry, say=say, warn=told)
    if not any(map(os.path.isdir, paths)):
        evidence.names = frozenset(map(os.path.basename, paths))


def _logs(evidence: Evidence, registry: Registry, say: Say, warn: Say) -> None:
    from gpudoctor.logs.explain import explain

    scripts = set(evidence.of(GivenKind.SCRIPT))
    paths: list[str] = []
    for path in evidence.of(GivenKind.LOG):
        paths += logs_in(path) if path in scripts else [path]
    evidence.explained = explain(map(Path, paths), checks=registry, source=not scripts, say=say, warn=warn)


def _checkpoints(evidence: Evidence, say: Say) -> None:
    from gpudoctor.checkpoint.formats.paths import paths_of
    from gpudoctor.checkpoint.look import look

    with paths_of(evidence.of(GivenKind.CHECKPOINT)) as named:
        for each in named:
            seen = look(each, say)
            if seen.lost:
                evidence.lose(GivenKind.CHECKPOINT, seen.lost, each.path)
            evidence.checkpoints.append(seen.file)
