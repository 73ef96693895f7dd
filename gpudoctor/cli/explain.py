"""``gpudoctor explain``."""

import sys
import time
from pathlib import Path

import click

from gpudoctor import pattern_cache
from gpudoctor.cli.commands import Command
from gpudoctor.cli.options import checks_option
from gpudoctor.cli.output import Output, output_options
from gpudoctor.registry import Registry


@click.command("explain", cls=Command)
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
    pattern_cache.recall()
    from gpudoctor.logs.explain import explain

    begun = time.monotonic()
    if not logs and sys.stdin is not None and sys.stdin.isatty():
        raise click.UsageError("name a log or a folder of logs, or pipe one in; see gpudoctor explain --help")
    paths = [Path(log) for log in logs or ["-"]]
    with output.status() as say:
        say(f"reading {paths[0]}")
        report = explain(paths, facts=facts, checks=Registry.of(folders), say=say, warn=output.warn)
    code = output.deliver(report, seconds=time.monotonic() - begun)
    pattern_cache.keep()
    return code
