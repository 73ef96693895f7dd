"""``gpudoctor check``."""

import functools
import io
import time
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from gpudoctor.cli.explain import explain_logs
from gpudoctor.cli.output import Output, make_console, output_options
from gpudoctor.cli.patient import checks_option, find_patient, python_option, tell_trouble
from gpudoctor.model import Status
from gpudoctor.registry import Registry, Unknown

if TYPE_CHECKING:
    from gpudoctor.model import Check, Report
    from gpudoctor.snapshot import Snapshot


@click.command("check")
@python_option
@click.option("--only", multiple=True, metavar="ID|FAMILY", help="These checks alone; may be repeated.")
@click.option("--skip", multiple=True, metavar="ID|FAMILY", help="All but these; may be repeated.")
@click.option(
    "--from",
    "source",
    metavar="FILE",
    help="Examine a saved report, a ticket, or collect_env's text; - reads standard input.",
)
@click.option("--log", metavar="FILE", help="Look for the checks' symptoms in a training log too.")
@checks_option
@click.option("--list", "listing", is_flag=True, help="List the checks.")
@click.option(
    "--timeout", type=click.FloatRange(min=0.1), metavar="S", help="Seconds that a probe may take at most."
)
@output_options
def command(
    output: Output,
    python: str | None,
    only: tuple[str, ...],
    skip: tuple[str, ...],
    source: str | None,
    log: str | None,
    folders: tuple[Path, ...],
    listing: bool,
    timeout: float | None,
) -> int:
    """Examine this machine and the patient's environment; change nothing.

    \b
    gpudoctor check
    gpudoctor check --python ~/miniconda3/envs/train/bin/python
    gpudoctor check --only network --only port-in-use
    gpudoctor check --from ticket.md --json
    gpudoctor check -o report.json
    """
    begun = time.monotonic()
    registry = Registry(folders)
    if listing:
        return list_checks(registry, output)
    report = examine(
        registry, output, python=python, only=only, skip=skip, source=source, log=log, timeout=timeout
    )
    tell_trouble(registry)
    return output.deliver(report, seconds=time.monotonic() - begun)


def examine(
    registry: Registry,
    output: Output,
    *,
    python: str | None = None,
    only: tuple[str, ...] = (),
    skip: tuple[str, ...] = (),
    source: str | None = None,
    log: str | None = None,
    timeout: float | None = None,
) -> "Report":
    """Collect facts, or read them from `source`, and diagnose them; errors of use are click's."""
    try:
        ids = registry.select(only, skip)
    except Unknown as error:
        raise click.UsageError(str(error)) from None
    explained = explain_logs(registry, output, [log]) if log is not None else None
    snapshot = (
        read(registry, source)
        if source is not None
        else look(registry, output, ids, bool(only), python, timeout)
    )
    from gpudoctor.diagnose import diagnose, verdict

    report = diagnose(snapshot, registry.checks(ids))
    if explained is not None:
        from gpudoctor.logs.join import join

        explained.findings = [finding for finding in explained.findings if finding.id in ids]
        report.findings = join(explained, report)
        broken = explained.verdict.status is Status.BROKEN and explained.findings
        report.verdict = explained.verdict if broken else verdict(report, snapshot)
    report.command = "check"
    return report


def read(registry: Registry, source: str) -> "Snapshot":
    """Read the facts of a saved report, a ticket or another tool's text."""
    from gpudoctor.importers import Unreadable
    from gpudoctor.importers import read as read_file

    try:
        return read_file(source, registry.topics).snapshot
    except Unreadable as error:
        raise click.UsageError(str(error)) from None


def look(
    registry: Registry,
    output: Output,
    ids: list[str],
    narrow: bool,
    python: str | None,
    timeout: float | None,
) -> "Snapshot":
    """Ask the probes; only those that the checks of `ids` need, when `narrow`."""
    from gpudoctor.collect import collect

    patient = find_patient(python)
    probes = registry.probes
    if narrow:
        from gpudoctor.diagnose import wanted

        kinds = {kind for check in registry.checks(ids) for kind in wanted(check)}
        probes = [p for p in probes if p.name == "python" or kinds & set(p.topics.values())]
    begun = time.monotonic()
    loaded: list[Check] = []
    with output.status() as say:

        def progress(running: dict[str, str]) -> None:
            _load_the_rest()
            if not loaded:  # a twentieth of a second that nobody waits for
                loaded.extend(registry.checks(ids))
            doing = ", ".join(f"{name}: {what}" if what else name for name, what in running.items())
            say(f"{time.monotonic() - begun:.0f} s  {doing}")

        snapshot = collect(probes, patient, timeout, progress)
    if python is not None and "python" not in snapshot.facts:
        reason = next(p.reason for p in snapshot.probes if p.name == "python")
        raise click.UsageError(f"--python {python}: no Python interpreter answers there ({reason})")
    return snapshot


@functools.cache
def _load_the_rest() -> None:
    """Import what comes after the probes while they run."""
    import gpudoctor.diagnose
    import gpudoctor.redact
    import gpudoctor.render.terminal  # noqa: F401


def list_checks(registry: Registry, output: Output) -> int:
    """Print every check with its family, severity and what it goes by."""
    rows = []
    for check in registry.checks():
        evidence = [
            *(["environment"] if check.environment_function else []),
            *(["log"] if check.symptoms else []),
            *(["reproduction"] if registry.reproduction(check.id) else []),
        ]
        rows.append(
            {
                "id": check.id,
                "family": check.family,
                "severity": check.severity.value,
                "evidence": evidence,
                "title": check.title,
            }
        )
    tell_trouble(registry)
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("id", "family", "severity", "evidence", "title"):
        table.add_column(name, no_wrap=name != "title")
    for row in rows:
        table.add_row(*(", ".join(v) if isinstance(v, list) else v for v in row.values()))
    text = io.StringIO()
    make_console(text).print(table)
    return output.give(text.getvalue(), rows)
