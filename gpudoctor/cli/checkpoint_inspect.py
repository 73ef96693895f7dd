"""``gpudoctor checkpoint inspect``."""

import contextlib
import dataclasses
import gc
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from gpudoctor.cli.checkpoint_paths import paths_of
from gpudoctor.cli.output import Output, output_options, telling
from gpudoctor.cli.patient import checks_option, tell_trouble
from gpudoctor.registry import Registry

if TYPE_CHECKING:
    from rich.console import Console

    from gpudoctor.checkpoint import Checkpoint
    from gpudoctor.checkpoint.tree import Heard
    from gpudoctor.facts import CheckpointFile
    from gpudoctor.facts.comparison import Comparison
    from gpudoctor.model import Check, Report, Result

RANK = ("passed", "unknown", "found", "crashed")
"""What a check came to, of several files the last in this order."""


@dataclasses.dataclass(frozen=True)
class Inspected(Output):
    """The shared options, and how a checkpoint is drawn."""

    keys: str | None = None

    def text(self, report: "Report", form: str, seconds: float | None) -> str:
        """Render a report in one of its forms, without what is private on this machine; names of keys stay."""
        if not self.redact:
            return self.render(report, form, seconds)
        from gpudoctor.model import Report
        from gpudoctor.redact import private, redacted, sealed
        from gpudoctor.render.keys import sparing_keys

        known = private(Report())  # of a checkpoint nothing is private but what this process is, too
        safe = sparing_keys(report, lambda bare: redacted(bare, known))
        text, left = sealed(self.render(safe, form, seconds), known)
        if left:
            print(f"gpudoctor: {left} private words were left and are now hidden", file=sys.stderr)
        return text

    def print(self, report: "Report", console: "Console", seconds: float | None) -> None:  # noqa: ARG002
        """Draw a report on a console."""
        from gpudoctor.render.checkpoint import render

        render(report, console, keys=self.keys, verbose=self.verbose)


@dataclasses.dataclass(frozen=True)
class Asked:
    """What is asked for beyond a look at the file."""

    values: bool = False
    verify: bool = False
    against: str | None = None
    arguments: dict[str, str] = dataclasses.field(default_factory=dict)
    python: str | None = None


@click.command("inspect")
@click.argument("files", nargs=-1, required=True, metavar="FILE|FOLDER|-...")
@click.option("--keys", metavar="GLOB", help="Show the keys that match, each in a line: 'layer*.weight'.")
@click.option(
    "--values", is_flag=True, help="Read every number: which are NaN, infinite, all zero, stored twice."
)
@click.option("--verify", is_flag=True, help="Compare each record of a zip file with its checksum.")
@click.option(
    "--against",
    metavar="FILE|module:factory|file.py:Class",
    help="Say whether it loads into another checkpoint's model, or into one that is built without its weights.",
)
@click.option("--arg", "arguments", multiple=True, metavar="KEY=VALUE", help="An argument of that factory.")
@click.option(
    "--python", metavar="EXE", help="The Python that builds it; default: that of the active environment."
)
@checks_option
@output_options
def command(
    output: Output,
    files: tuple[str, ...],
    keys: str | None,
    values: bool,
    verify: bool,
    against: str | None,
    arguments: tuple[str, ...],
    python: str | None,
    folders: tuple[Path, ...],
) -> int:
    """Say what is in a checkpoint: entries, keys, prefixes, devices, sharing, damage, and what opening it would run.

    A file of torch.save of any version, TorchScript, safetensors, an *.index.json; a folder of a distributed or
    sharded checkpoint, or one whose checkpoint files are to be looked at one by one; - is standard input. Nothing in
    it is run.

    In JSON, facts.checkpoint is the first file, and facts."checkpoint.2" and so on the others; what --values and
    --against add is facts.values and facts.comparison, numbered alike. The findings are those of all files.

    \b
    gpudoctor checkpoint inspect model.pt
    gpudoctor checkpoint inspect model.pt --keys '*.weight' --values
    gpudoctor checkpoint inspect model.pt --against other.pt
    gpudoctor checkpoint inspect model.pt --against package.net:build --arg classes=10
    """
    begun = time.monotonic()
    gc.disable()  # a tree of a million objects without a cycle, in a process that ends after it
    asked = Asked(values, verify, against, _pairs(arguments), python)
    shown = Inspected(**dataclasses.asdict(output), keys=keys)
    registry = Registry(folders)
    with contextlib.ExitStack() as stack, output.status() as say:
        report = inspect(stack.enter_context(paths_of(files)), registry, asked, say)
    tell_trouble(registry)
    return shown.deliver(report, seconds=time.monotonic() - begun)


def inspect(paths: list[str], registry: Registry, asked: Asked, say: Callable[[str], None]) -> "Report":
    """Look at checkpoints one after the other; what cannot be read is an error of use."""
    from msgspec.structs import replace

    from gpudoctor.checkpoint.examine import examine, verdict
    from gpudoctor.cli.checkpoint_differences import differences
    from gpudoctor.model import Report

    report = Report(command="checkpoint inspect")
    checks = knowing(registry)
    files: list[CheckpointFile] = []
    done: dict[str, Result] = {}
    comparison = None
    for number, path in enumerate(paths, 1):
        say(f"reading {path}")
        suffix = f".{number}" if number > 1 else ""
        file, checkpoint = _read(path, asked, telling(say, f"reading {path}"))
        report.facts[f"checkpoint{suffix}"] = file
        files.append(file)
        findings, results = examine(file, checks)
        if checkpoint is not None and asked.values:
            heard = telling(say, f"looking at the numbers of {path}")
            report.facts[f"values{suffix}"] = _values(checkpoint, heard)
        if checkpoint is not None and asked.against is not None:
            say(f"comparing with {asked.against}")
            comparison = _compared(file, asked)
            report.facts[f"comparison{suffix}"] = comparison
            findings = [f for f in findings if f.id != "state-dict-prefix"]
            findings += differences(comparison, registry)
        for result in results:
            done[result.id] = max(
                done.get(result.id, result), result, key=lambda r: RANK.index(r.status.value)
            )
        named = f"{os.path.basename(path)}: " if len(paths) > 1 else ""
        report.findings += [replace(finding, message=named + finding.message) for finding in findings]
    report.checks = list(done.values())
    report.findings.sort(key=lambda finding: finding.order)
    said = comparison.sentence if comparison is not None and len(paths) == 1 else None
    report.verdict = verdict(files, report.findings, said)
    return report


def knowing(registry: Registry) -> "list[Check]":
    """Load the checks that can know a checkpoint: those of that family, and all local ones."""
    ids = [id for id, (name, path) in registry.modules.items() if ".checkpoint." in name or path is not None]
    return registry.checks(ids)


def _read(path: str, asked: Asked, heard: "Heard") -> "tuple[CheckpointFile, Checkpoint | None]":
    """Read a file; one that is too damaged to be read, yet was a checkpoint, is described as such."""
    from msgspec.structs import replace

    from gpudoctor.checkpoint import Unreadable, read
    from gpudoctor.checkpoint.damaged import damaged
    from gpudoctor.checkpoint.survey import survey

    try:
        checkpoint = read(path)
        file = survey(checkpoint)
        if asked.verify and file.kind in ("torch zip", "torchscript"):
            from gpudoctor.checkpoint.verify import verify

            file = replace(file, trouble=(*file.trouble, *verify(path, file.size, heard)))
    except Unreadable as error:
        broken = damaged(path, str(error))
        if broken is None:
            raise click.UsageError(str(error)) from None
        return broken, None
    return file, checkpoint


def _values(checkpoint: "Checkpoint", heard: "Heard") -> Any:
    from gpudoctor.checkpoint import Unreadable
    from gpudoctor.checkpoint.values import look

    try:
        return look(checkpoint, heard)
    except Unreadable as error:
        raise click.UsageError(str(error)) from None


def _compared(file: "CheckpointFile", asked: Asked) -> "Comparison":
    from gpudoctor.checkpoint import Unreadable
    from gpudoctor.checkpoint.model_keys import against

    assert asked.against is not None
    try:
        return against(file, asked.against, asked.arguments, asked.python)
    except Unreadable as error:
        raise click.UsageError(str(error)) from None


def _pairs(arguments: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals or not key.isidentifier():
            raise click.UsageError(f"--arg {argument}: write it as KEY=VALUE")
        pairs[key] = value
    return pairs
