"""``gpudoctor explain``."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from gpudoctor.cli.output import Output, output_options
from gpudoctor.cli.patient import checks_option, tell_trouble
from gpudoctor.registry import Registry

if TYPE_CHECKING:
    from gpudoctor.logs.sources import Opened
    from gpudoctor.model import Report


@click.command("explain")
@click.argument("logs", nargs=-1, metavar="[LOG|FOLDER|-]...")
@click.option("--facts", metavar="REPORT", help="Join the log with the facts of a saved report or ticket.")
@checks_option
@output_options
def command(output: Output, logs: tuple[str, ...], facts: str | None, folders: tuple[Path, ...]) -> int:
    """Name the one cause in what a training printed: which failure, on which rank, the line that proves it, the fix.

    Several files and whole folders are read together (torchrun's --log-dir too), packed by gzip or not; - or nothing
    is standard input.

    \b
    gpudoctor explain train.log
    gpudoctor explain logs/
    torchrun ... 2>&1 | tee train.log | gpudoctor explain -
    gpudoctor explain train.log --facts report.json
    """
    begun = time.monotonic()
    if not logs and sys.stdin.isatty():
        raise click.UsageError("name a log or a folder of logs, or pipe one in; see gpudoctor explain --help")
    registry = Registry(folders)
    report = explain_logs(registry, output, list(logs) or ["-"])
    if facts is not None:
        add_facts(report, registry, facts)
    tell_trouble(registry)
    return output.deliver(report, seconds=time.monotonic() - begun)


def explain_logs(registry: Registry, output: Output, paths: list[str]) -> "Report":
    """Read logs and explain them; what cannot be read is an error of use."""
    from gpudoctor.logs.explain import explain_lines, loader, read_log
    from gpudoctor.logs.index import finder
    from gpudoctor.logs.sources import Unreadable, read_all

    find = finder(registry)
    try:
        with output.status() as say:
            say(f"reading {paths[0]}")
            lines, total = read_log(_told(read_all(paths, find, _skipped), say))
    except Unreadable as error:
        raise click.UsageError(str(error)) from None
    if not total:
        raise click.UsageError(f"{', '.join(paths)}: nothing to read, the log is empty")
    return explain_lines(lines, find, loader(registry), total=total)


def _skipped(reason: str) -> None:
    print(f"gpudoctor: {reason}", file=sys.stderr)


def _told(opened: "Iterable[Opened]", say: "Callable[[str], None]") -> "Iterator[Opened]":
    for log in opened:
        say(f"read {log.name}")
        yield log


def add_facts(report: "Report", registry: Registry, source: str) -> None:
    """Examine saved facts with the checks that the log shows, and join the two."""
    from gpudoctor.cli.check import read
    from gpudoctor.diagnose import diagnose
    from gpudoctor.logs.join import join

    snapshot = read(registry, source)
    diagnosed = diagnose(snapshot, registry.checks([finding.id for finding in report.findings]))
    report.findings = join(report, diagnosed, all_findings=False)
    report.facts, report.probes = diagnosed.facts, diagnosed.probes
