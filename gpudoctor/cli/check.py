"""``gpudoctor check``."""

import functools
import io
import time
from pathlib import Path

import click

from gpudoctor.cli.commands import Command
from gpudoctor.cli.options import checks_option, python_option, timeout_option
from gpudoctor.cli.output import Output, output_options
from gpudoctor.cli.streams import make_console
from gpudoctor.registry import Registry


@click.command("check", cls=Command)
@click.argument("files", nargs=-1, metavar="[SCRIPT|LOG|CHECKPOINT|REPORT]...")
@python_option
@click.option(
    "--only", multiple=True, metavar="ID|FAMILY", help="These checks alone; several with commas, or repeated."
)
@click.option("--skip", multiple=True, metavar="ID|FAMILY", help="All but these; several likewise.")
@click.option(
    "--from",
    "source",
    metavar="FILE",
    help="Examine a saved report, a ticket, or what collect_env, nvidia-smi and the like say; - reads standard input.",
)
@click.option(
    "--deep", is_flag=True, help="Measure GPUs, links, collectives and disk too: up to two minutes."
)
@click.option("--log", metavar="FILE", help="Look for the checks' symptoms in a training log too.")
@checks_option
@click.option("--list", "listing", is_flag=True, help="List the checks.")
@click.option(
    "--no-cache", "without_cache", is_flag=True, help="Read the libraries anew, and write no cache."
)
@timeout_option
@output_options
def command(
    output: Output,
    files: tuple[str, ...],
    python: str | None,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    source: str | None,
    deep: bool,
    log: str | None,
    folders: tuple[Path, ...],
    listing: bool,
    without_cache: bool,
    timeout: float | None,
) -> int:
    """Examine this machine, the patient's environment, and files beside it; change nothing.

    Scripts, logs, checkpoints and folders of them are read as what they are; all of it comes to one cause.

    \b
    gpudoctor check
    gpudoctor check train.py train.log model.pt
    gpudoctor check --python ~/miniconda3/envs/train/bin/python
    gpudoctor check --only network --only port-in-use
    gpudoctor check --deep
    gpudoctor check --from ticket.md --json
    gpudoctor check rank0.json rank1.json
    gpudoctor check -o report.json
    """
    begun = time.monotonic()
    registry = Registry.of(folders)
    if listing:
        return list_checks(registry, output, registry.select(only, skip))
    from gpudoctor.child import adopt_orphans
    from gpudoctor.environment import check

    adopt_orphans()
    with output.status() as say:

        def tell(doing: str) -> None:
            preload()
            say(doing)

        report = check(
            *files, python=python, only=only, skip=skip, source=source, log=log, deep=deep, checks=registry,
            timeout=timeout, cache=not without_cache, say=tell, warn=output.warn,
        )  # fmt: skip
    return output.deliver(report, seconds=time.monotonic() - begun, here=source is None and not files)


@functools.cache
def preload() -> None:
    """Import what is needed after the probes, while they run."""
    import gpudoctor.diagnose
    import gpudoctor.redact
    import gpudoctor.render.terminal  # noqa: F401


def list_checks(registry: Registry, output: Output, ids: list[str]) -> int:
    """Print checks with their family, severity and what they go by."""
    from gpudoctor.catalogue import entry
    from gpudoctor.render.catalogue import table

    output.refuse_quiet()
    entries = [entry(check, registry) for check in registry.checks(ids)]
    code = output.complain(registry)
    text = io.StringIO()
    make_console(text).print(table(entries))
    return output.give(text.getvalue(), entries) or code
