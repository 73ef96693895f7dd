"""``gpudoctor checkpoint inspect``."""

import contextlib
import dataclasses
import gc
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from gpudoctor.cli.checkpoint_look import Asked, look
from gpudoctor.cli.checkpoint_paths import Named, paths_of
from gpudoctor.cli.output import Output, output_options
from gpudoctor.cli.patient import checks_option, tell_trouble
from gpudoctor.registry import Registry

if TYPE_CHECKING:
    from rich.console import Console

    from gpudoctor.facts import CheckpointFile
    from gpudoctor.facts.comparison import Comparison
    from gpudoctor.model import Check, Report, Result, Verdict

RANK = ("passed", "unknown", "found", "crashed")
"""What a check came to, of several files the last in this order."""
USAGE = 2


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

    def print(self, report: "Report", console: "Console", seconds: float | None) -> None:  # noqa: ARG002 - Output has it
        """Draw a report on a console."""
        from gpudoctor.render.checkpoint import render

        render(report, console, keys=self.keys, verbose=self.verbose)


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
        report, unread = inspect(stack.enter_context(paths_of(files)), registry, asked, say)
    tell_trouble(registry)
    code = shown.deliver(report, seconds=time.monotonic() - begun)
    for reason in unread:
        print(f"gpudoctor: {reason}", file=sys.stderr)
    return USAGE if unread else code


def inspect(
    paths: list[Named], registry: Registry, asked: Asked, say: Callable[[str], None]
) -> "tuple[Report, list[str]]":
    """Look at checkpoints one after the other; return the report, and why files that were named cannot be read.

    Where none can be read, or none has what is to be compared, that is an error of use.
    """
    from gpudoctor.checkpoint.examine import ranked, verdict
    from gpudoctor.model import Report

    report = Report(command="checkpoint inspect")
    checks = knowing(registry)
    files: list[CheckpointFile] = []
    done: dict[str, Result] = {}
    compared: list[tuple[str, Comparison]] = []
    lost: list[tuple[Named, str]] = []
    nonfinite = 0
    for number, named in enumerate(paths, 1):
        seen = look(named, asked, registry, checks, say, alone=len(paths) == 1)
        suffix = f".{number}" if number > 1 else ""
        report.facts.update({topic + suffix: fact for topic, fact in seen.facts})
        files.append(seen.file)
        report.findings += seen.findings
        nonfinite += len(seen.values.nonfinite) if seen.values else 0
        lost += [(named, seen.lost)] if seen.lost else []
        compared += [(named.shown, seen.comparison)] if seen.comparison else []
        for result in seen.results:
            done[result.id] = max(
                done.get(result.id, result), result, key=lambda r: RANK.index(r.status.value)
            )
    if len(lost) == len(paths):
        raise click.UsageError(lost[0][1])
    if asked.against is not None and not compared and not report.findings:
        raise click.UsageError(f"none of {len(paths)} files holds a state dict that could be compared")
    report.checks = list(done.values())
    report.findings = ranked(report.findings)
    unread = {named.shown for named, _ in lost}
    left = [file for file in files if file.path not in unread]
    said = verdict(left, report.findings, answer(compared, len(paths)))
    report.verdict = without(len(unread), diverged(nonfinite, said))
    return report, [reason for named, reason in lost if named.asked]


def diverged(tensors: int, verdict: "Verdict") -> "Verdict":
    """Say in a verdict how many tensors have NaN or infinite numbers; it is no fault: a mask is made of infinity."""
    from msgspec.structs import replace

    if not tensors:
        return verdict
    held = "1 tensor has" if tensors == 1 else f"{tensors} tensors have"
    return replace(verdict, sentence=f"{verdict.sentence.rstrip('.')}; {held} NaN or infinite numbers.")


def without(unread: int, verdict: "Verdict") -> "Verdict":
    """Say in a verdict how many files could not be read: they never count as healthy."""
    from msgspec.structs import replace

    from gpudoctor.model import Status

    if not unread:
        return verdict
    status = Status.UNKNOWN if verdict.status is Status.HEALTHY else verdict.status
    files = "1 file" if unread == 1 else f"{unread} files"
    return replace(verdict, status=status, sentence=f"{verdict.sentence} {files} could not be read.")


def answer(compared: "list[tuple[str, Comparison]]", files: int) -> str | None:
    """Say in one sentence what comparisons come to; ``None`` where nothing was compared."""
    if not compared:
        return None
    path, first = compared[0]
    if len(compared) > 1:
        # What does not load is a finding, and worse.
        return f"All {len(compared)} that hold a state dict load into it." if all_load(compared) else None
    return first.sentence if files == 1 else f"{os.path.basename(path)}: {first.sentence}"


def all_load(compared: "list[tuple[str, Comparison]]") -> bool:
    """Tell whether nothing is in the way of any."""
    return all(comparison.outcome == "loads" for _, comparison in compared)


def knowing(registry: Registry) -> "list[Check]":
    """Load the checks that can know a checkpoint: those of that family, and all local ones."""
    ids = [id for id, (name, path) in registry.modules.items() if ".checkpoint." in name or path is not None]
    return registry.checks(ids)


def _pairs(arguments: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for argument in arguments:
        key, equals, value = argument.partition("=")
        if not equals or not key.isidentifier():
            raise click.UsageError(f"--arg {argument}: write it as KEY=VALUE")
        pairs[key] = value
    return pairs
