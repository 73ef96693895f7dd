"""``gpudoctor report``."""

import functools
import time
from pathlib import Path

import click

from gpudoctor.cli.commands import Command
from gpudoctor.cli.options import checks_option, python_option, timeout_option
from gpudoctor.cli.output import FORMATS, Output, output_options
from gpudoctor.cli.repro import progress
from gpudoctor.registry import Registry


@click.command("report", cls=Command)
@click.argument("files", nargs=-1, metavar="[SCRIPT|LOG|CHECKPOINT]...")
@click.option(
    "--repro",
    "names",
    multiple=True,
    metavar="MODE|ID",
    help="Run this training mode or reproduction for the ticket; may be repeated.",
)
@python_option
@click.option("--log", metavar="FILE", help="Explain a training log, or a folder of them, beside the facts.")
@timeout_option
@checks_option
@output_options
def command(
    output: Output,
    files: tuple[str, ...],
    names: tuple[str, ...],
    python: str | None,
    log: str | None,
    timeout: float | None,
    folders: tuple[Path, ...],
) -> int:
    """Write a ticket: the verdict, the findings with their fixes, the environment, and the whole report folded in.

    \b
    gpudoctor report -o ticket.md
    gpudoctor report train.py train.log -o ticket.md
    gpudoctor report -o ticket.md --repro dp --repro ddp
    gpudoctor report -o report.json
    """
    from gpudoctor.child import adopt_orphans
    from gpudoctor.ticketing import ticket

    begun = time.monotonic()
    if output.file is not None and Path(output.file).suffix not in FORMATS:
        raise click.UsageError(f"-o {output.file}: a ticket is written as {' or '.join(sorted(FORMATS))}")
    adopt_orphans()
    report = ticket(
        *files, repro=names, python=python, log=log, checks=Registry.of(folders), timeout=timeout,
        watch=functools.partial(progress, output), warn=output.warn,
    )  # fmt: skip
    return output.deliver(report, seconds=time.monotonic() - begun, default="markdown")
