"""``gpudoctor repro``."""

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from gpudoctor.cli.output import Output, output_options
from gpudoctor.cli.patient import checks_option, find_patient, python_option
from gpudoctor.interpreter import Patient
from gpudoctor.registry import Registry, Unknown
from gpudoctor.snapshot import Snapshot
from gpudoctor.training_script import MODES

if TYPE_CHECKING:
    from gpudoctor.model import Proof, Report


@click.command("repro")
@click.argument("what", metavar="MODE|ID|all")
@python_option
@click.option(
    "--nproc",
    type=click.IntRange(1, 1024),
    metavar="N",
    help="Ranks of ddp; default: one per GPU, without a GPU two.",
)
@click.option(
    "--data",
    type=click.Path(exists=True, file_okay=False),
    help="A folder with the real MNIST; default: digits drawn on the spot.",
)
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
    data: str | None,
    script: bool,
    timeout: float | None,
    folders: tuple[Path, ...],
) -> int:
    """Really train in a parallel mode (single, dp, ddp), or prove a failure and its fix, or prove all of them.

    \b
    gpudoctor repro ddp                two gloo ranks, or one NCCL rank per GPU
    gpudoctor repro dp --data ~/mnist
    gpudoctor repro ddp --script > train.py
    gpudoctor repro port-in-use        the error, and the fix that was seen to work
    gpudoctor repro all
    """
    begun = time.monotonic()
    registry = Registry(folders)
    if what != "all":
        refuse_unknown(registry, what)
    if script:
        return print_script(registry, what, output)
    patient = find_patient(python)
    if what in MODES:
        snapshot = ground(registry, patient)
        proofs = [run_mode(what, patient, snapshot, output, nproc=nproc, data=data, timeout=timeout)]
    else:
        ids = [id for id in registry.modules if registry.reproduction(id)] if what == "all" else [what]
        snapshot = look_for_needs(registry, patient, output)
        proofs = prove_all(registry, ids, patient, snapshot, output, timeout)
    from gpudoctor.model import Report

    report = Report(command="repro", proofs=proofs, probes=snapshot.probes, facts=dict(snapshot.facts))
    conclude(report, registry)
    return output.deliver(report, seconds=time.monotonic() - begun)


def refuse_unknown(registry: Registry, what: str) -> None:
    """Refuse in one line what is neither a mode nor a check with a reproduction."""
    if what in MODES:
        return
    try:
        registry.check(what)
    except (Unknown, ImportError) as error:
        raise click.UsageError(f"{error}; modes are {', '.join(MODES)}") from None
    if registry.reproduction(what) is None:
        raise click.UsageError(f"{what} has no reproduction")


def conclude(report: "Report", registry: Registry) -> None:
    """Search what failed trainings printed for known failures, and say what it all comes to."""
    from gpudoctor.diagnose import verdict
    from gpudoctor.logs.explain import explain_lines, loader
    from gpudoctor.logs.index import finder
    from gpudoctor.logs.join import join
    from gpudoctor.logs.lines import read_text
    from gpudoctor.model import Source

    for proof in report.proofs:
        if proof.broken is None and proof.error:
            lines = read_text(proof.error, f"repro {proof.id}")
            said = explain_lines(lines, finder(registry), loader(registry), source=Source.REPRODUCTION)
            report.findings = join(said, report)
    report.verdict = verdict(report, Snapshot(report.facts, report.probes))


def print_script(registry: Registry, what: str, output: Output) -> int:
    """Print the very text that runs: a mode's script, or the half of a reproduction that fails."""
    if what in MODES:
        from gpudoctor.training_script import training_script

        return output.give(text := training_script(what), {"id": what, "script": text})
    if what == "all":
        raise click.UsageError("--script prints one script; name a mode or a check")
    folder = registry.reproduction(what)
    assert folder is not None
    text = (folder / "broken.py").read_text(encoding="utf-8")
    return output.give(text, {"id": what, "script": text})


def run_mode(
    mode: str,
    patient: Patient,
    snapshot: Snapshot,
    output: Output,
    *,
    nproc: int | None = None,
    data: str | None = None,
    timeout: float | None = None,
) -> "Proof":
    """Train in one mode, with a progress bar on a terminal."""
    from gpudoctor.facts import Names
    from gpudoctor.train import DEADLINE, UnusableData, train

    ranks, names = nproc or default_ranks(snapshot), snapshot.get(Names)
    options = ["--data", str(Path(data).resolve())] if data else []
    try:
        with progress_bar(output, mode) as on_event:
            return train(
                mode,
                patient,
                nproc=ranks,
                nameless=names is not None and names.own.error is not None,
                options=options,
                deadline=timeout or DEADLINE,
                on_event=on_event,
            )
    except UnusableData as error:
        raise click.UsageError(f"--data: {error}") from None


def ground(registry: Registry, patient: Patient) -> Snapshot:
    """Learn on what a training mode will run: the quick probes alone, none that imports torch."""
    from gpudoctor.collect import collect

    return collect(
        [p for p in registry.probes if p.name in ("python", "gpus", "launch", "host", "names")], patient
    )


def default_ranks(snapshot: Snapshot) -> int:
    """Return the number of GPUs that a rank can have for itself, or 2 without any."""
    from gpudoctor.facts import Gpus, Launch

    gpus, launch = snapshot.get(Gpus), snapshot.get(Launch)
    if gpus is None or not gpus.devices:
        return 2
    visible = launch.variables.get("CUDA_VISIBLE_DEVICES") if launch else None
    if visible is None:
        return len(gpus.devices)
    return min(len([v for v in visible.split(",") if v.strip() not in ("", "-1")]), len(gpus.devices)) or 2


def look_for_needs(registry: Registry, patient: Patient, output: Output) -> Snapshot:
    """Learn what the scripts of reproductions may need: the patient's torch, and the driver."""
    from gpudoctor.collect import collect

    with output.status() as say:
        say("what this machine and this Python have")
        return collect([p for p in registry.probes if p.name in ("python", "torch", "driver")], patient)


def prove_all(
    registry: Registry,
    ids: list[str],
    patient: Patient,
    snapshot: Snapshot,
    output: Output,
    timeout: float | None = None,
) -> list["Proof"]:
    """Run reproductions one after the other; `snapshot` tells which of them can run here."""
    from gpudoctor.reproduce import DEADLINE, prove

    proofs = []
    with output.status() as say:
        for number, id in enumerate(ids, 1):
            folder = registry.reproduction(id)
            assert folder is not None

            def tell(name: str, number: int = number, id: str = id) -> None:
                say(f"{number}/{len(ids)} {id}: {name}")

            check = registry.check(id)
            proofs.append(
                prove(check, folder, patient, snapshot, deadline=timeout or DEADLINE, on_script=tell)
            )
    return proofs


@contextlib.contextmanager
def progress_bar(output: Output, mode: str) -> Iterator[Callable[[dict[str, Any]], None]]:
    """Show a training run's events as a bar on a terminal, and nothing elsewhere."""
    if output.quiet or not sys.stderr.isatty():
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
            elif event["event"] in ("start", "data", "gradients"):
                words = {"start": "drawing digits", "data": "comparing gradients", "gradients": "training"}
                bar.update(task, said=words[event["event"]])

        yield on_event
