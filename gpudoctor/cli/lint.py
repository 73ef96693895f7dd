"""``gpudoctor lint``."""

import time
from pathlib import Path

import rich_click as click

from gpudoctor.cli.options import checks_option
from gpudoctor.cli.output import Output, output_options
from gpudoctor.cli.streams import warn
from gpudoctor.registry import Registry


@click.command("lint")
@click.argument("paths", nargs=-1, required=True, metavar="FILE|FOLDER...")
@click.option(
    "--only", multiple=True, metavar="ID", help="Only this check or family; several times for several."
)
@click.option("--skip", multiple=True, metavar="ID", help="All but this check or family.")
@checks_option
@output_options
def command(
    output: Output,
    paths: tuple[str, ...],
    only: tuple[str, ...],
    skip: tuple[str, ...],
    folders: tuple[Path, ...],
) -> int:
    """Find in the source of training scripts what breaks on several GPUs; nothing of it is run.

    \b
    gpudoctor lint train.py
    gpudoctor lint src/ --only ddp
    """
    from gpudoctor.code.linting import lint

    begun = time.monotonic()
    with output.status() as say:
        report = lint(paths, only=only, skip=skip, checks=Registry(folders), say=say, warn=warn)
    return output.deliver(report, seconds=time.monotonic() - begun)
