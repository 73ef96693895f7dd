"""``gpudoctor repro``."""

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

from gpudoctor.cli.commands import Command
from gpudoctor.cli.options import checks_option, python_option
from gpudoctor.cli.output import Output, output_options
from gpudoctor.cli.training_options import scaling_options, training_options
from gpudoctor.proving.training_script import MODES, Choice
from gpudoctor.registry import Registry


@click.command("repro", cls=Command)
@click.argument("what", metavar="MODE|ID|all")
@python_option
@click.option(
    "--nproc",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Ranks, or devices of a mode of one process; default: one per GPU, without a GPU two.",
)
@training_options
@scaling_options
@click.option("--script", is_flag=True, help="Print the script that would run, for a ticket.")
@click.option(
    "--timeout", type=click.FloatRange(min=1), metavar="S", help="Seconds after which a script is ended."
)
@checks_option
@output_options
def command(
    output: Output,
    what: str,
    python: str | None,
    nproc: int | None,
    choice: Choice,
    scale: tuple[int, ...],
    strategies: tuple[str, ...],
    script: bool,
    timeout: float | None,
    folders: tuple[Path, ...],
) -> int:
    """Really train in a mode, or prove a failure and its fix, or prove all of them.

    Modes: single, manual (all written by hand), functional (nn.parallel.data_parallel), dp (nn.DataParallel), average
    (gradients averaged by hand), ddp (DistributedDataParallel). The last two start under srun, too.

    \b
    gpudoctor repro ddp                two gloo ranks, or one NCCL rank per GPU
    gpudoctor repro dp --data-dir ~/mnist
    gpudoctor repro ddp --model resnet50 --data cifar10
    gpudoctor repro ddp --scale 1,2,4,8
    srun gpudoctor repro ddp           each task is a rank, the first one reports
    gpudoctor repro ddp --script > train.py
    gpudoctor repro port-in-use        the error, and the fix that was seen to work
    gpudoctor repro all
    """
    begun = time.monotonic()
    registry = Registry.of(folders)
    if script:
        if choice.arguments or any(option is not None for option in (python, nproc, timeout)):
            raise click.UsageError(
                "--script runs nothing: it takes no --python, --nproc or --timeout; the script has options of its own"
            )
        return print_script(registry, what, output)
    if scale or strategies:
        devices = scale or ((nproc,) if nproc else ())
        return compare(
            output, what, devices, strategies,
            python=python, choice=choice, registry=registry, timeout=timeout,
        )  # fmt: skip
    from gpudoctor.child import adopt_orphans
    from gpudoctor.proving.proofs import prove
    from gpudoctor.proving.training import is_another_task

    adopt_orphans()
    with progress(output, what) as (say, on_event):
        report = prove(
            what, python=python, nproc=nproc, choice=choice,
            checks=registry, timeout=timeout, say=say, on_event=on_event,
        )  # fmt: skip
    if is_another_task(what) and all(proof.held for proof in report.proofs):
        return 0
    return output.deliver(report, seconds=time.monotonic() - begun)


def compare(
    output: Output,
    mode: str,
    devices: tuple[int, ...],
    strategies: tuple[str, ...],
    *,
    python: str | None,
    choice: Choice,
    registry: Registry,
    timeout: float | None,
) -> int:
    """Time the steps of several runs and show them side by side."""
    from gpudoctor.child import adopt_orphans
    from gpudoctor.proving.scaling import scale

    begun = time.monotonic()
    adopt_orphans()
    with output.status() as say:
        report = scale(
            mode,
            devices,
            strategies=strategies,
            python=python,
            choice=choice,
            checks=registry,
            timeout=timeout,
            say=say,
        )
    return output.deliver(report, seconds=time.monotonic() - begun)


def print_script(registry: Registry, what: str, output: Output) -> int:
    """Print the very text that runs: a mode's script, or the half of a reproduction that fails."""
    from gpudoctor.proving.proofs import refuse_unknown, scripts_of
    from gpudoctor.proving.training_script import training_script

    output.refuse_quiet()
    if what == "all":
        raise click.UsageError("--script prints one script; name a mode or a check")
    refuse_unknown(registry, what)
    if what in MODES:
        text = training_script(what)
    else:
        text = (scripts_of(registry, what) / "broken.py").read_text(encoding="utf-8")
    return output.give(text, {"id": what, "script": text})


Progress = tuple[Callable[[str], None], Callable[[dict[str, Any]], None]]
"""What is told what is being done, and what a training tells of itself."""


@contextlib.contextmanager
def progress(output: Output, what: str) -> Iterator[Progress]:
    """Show on a terminal what is being done: a bar for a training mode, a line for anything else."""
    if what not in MODES:
        with output.status() as say:
            yield say, lambda event: None
        return
    with training_bar(output, what) as on_event:
        yield lambda doing: None, on_event


DOING = {
    "start": "drawing images",
    "data": "comparing gradients",
    "gradients": "training",
    "alone": "the same training on one device, to compare",
}
"""What a training does after it told an event, until it tells the next one."""


@contextlib.contextmanager
def training_bar(output: Output, mode: str) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Show a training run's events as a bar on a terminal, and nothing elsewhere."""
    if not output.live:
        yield lambda event: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[said]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(mode, total=None, said="starting")

        def on_event(event: dict[str, Any]) -> None:
            if event["event"] == "step":
                done = (event["epoch"] - 1) * event["steps"] + event["step"]
                said = f"epoch {event['epoch']}/{event['epochs']}  loss {event['loss']:.3f}"
                bar.update(task, total=event["epochs"] * event["steps"], completed=done, said=said)
            elif event["event"] in DOING:
                bar.update(task, said=DOING[event["event"]])

        yield on_event
