"""``gpudoctor report``."""

import time
from pathlib import Path

import rich_click as click

from gpudoctor.cli.check import examine
from gpudoctor.cli.output import FORMATS, Output, output_options
from gpudoctor.cli.patient import checks_option, find_patient, python_option, tell_trouble
from gpudoctor.cli.repro import conclude, prove_all, refuse_unknown, run_mode
from gpudoctor.registry import Registry
from gpudoctor.training_script import MODES


@click.command("report")
@click.option(
    "--repro",
    "modes",
    multiple=True,
    metavar="MODE|ID",
    help="Run this training mode or reproduction for the ticket; may be repeated.",
)
@python_option
@click.option("--log", metavar="FILE", help="Explain a training log, or a folder of them, beside the facts.")
@click.option(
    "--timeout", type=click.FloatRange(min=0.1), metavar="S", help="Seconds that a probe may take at most."
)
@checks_option
@output_options
def command(
    output: Output,
    modes: tuple[str, ...],
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
    from gpudoctor.snapshot import Snapshot

    begun = time.monotonic()
    if output.file is not None and Path(output.file).suffix not in FORMATS:
        raise click.UsageError(f"-o {output.file}: a ticket is written as {' or '.join(sorted(FORMATS))}")
    registry = Registry(folders)
    for name in modes:
        refuse_unknown(registry, name)
    report = examine(registry, output, python=python, log=log, timeout=timeout)
    report.command = "report"
    if modes:
        patient, facts = find_patient(python), Snapshot(report.facts, report.probes)
        for name in modes:
            if name in MODES:
                report.proofs.append(run_mode(name, patient, facts, output))
            else:
                report.proofs += prove_all(registry, [name], patient, facts, output)
        conclude(report, registry)
    tell_trouble(registry)
    return output.deliver(report, seconds=time.monotonic() - begun, default="markdown")
