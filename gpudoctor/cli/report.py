"""``gpudoctor report``."""

import time
from pathlib import Path

import rich_click as click

from gpudoctor.cli.options import checks_option, python_option, timeout_option
from gpudoctor.cli.output import FORMATS, Output, output_options
from gpudoctor.cli.repro import training_bar
from gpudoctor.cli.streams import warn
from gpudoctor.registry import Registry
from gpudoctor.training_script import MODES


@click.command("report")
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
    names: tuple[str, ...],
    python: str | None,
    log: str | None,
    timeout: float | None,
    folders: tuple[Path, ...],
) -> int:
    """Write a ticket: the verdict, the findings with their fixes, the environment, and the whole report folded in.

    \b
    gpudoctor report -o ticket.md
    gpudoctor report -o ticket.md --repro dp --repro ddp
    gpudoctor report -o report.json
    """
    from gpudoctor.child import adopt_orphans
    from gpudoctor.environment import check
    from gpudoctor.interpreter import choose_patient
    from gpudoctor.proofs import Bench, add, refuse_unknown
    from gpudoctor.snapshot import Snapshot

    begun = time.monotonic()
    if output.file is not None and Path(output.file).suffix not in FORMATS:
        raise click.UsageError(f"-o {output.file}: a ticket is written as {' or '.join(sorted(FORMATS))}")
    registry = Registry(folders)
    for name in names:
        refuse_unknown(registry, name)
    adopt_orphans()
    with output.status() as say:
        report = check(python=python, log=log, checks=registry, timeout=timeout, say=say, warn=warn)
    bench = Bench(registry, choose_patient(python), Snapshot(report.facts, report.probes))
    for name in names:
        if name in MODES:
            with training_bar(output, name) as bench.on_event:
                report = add(report, bench.prove(name), registry)
        else:
            with output.status() as bench.say:
                report = add(report, bench.prove(name), registry)
    report.command = "report"
    return output.deliver(report, seconds=time.monotonic() - begun, default="markdown")
