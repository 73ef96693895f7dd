"""``gpudoctor lint``."""

import time
from collections import Counter
from pathlib import Path

import click

from gpudoctor.cli.commands import Command
from gpudoctor.cli.options import checks_option
from gpudoctor.cli.output import Output, output_options
from gpudoctor.registry import Registry
from gpudoctor.report import Report
from gpudoctor.text import count
from gpudoctor.verdict import exit_code


@click.command("lint", cls=Command)
@click.argument("paths", nargs=-1, required=True, metavar="FILE|FOLDER|-...")
@click.option(
    "--only",
    multiple=True,
    metavar="ID",
    help="Only this check or family; several with commas, or several times.",
)
@click.option("--skip", multiple=True, metavar="ID", help="All but this check or family; several likewise.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["concise", "github", "gitlab", "sarif", "junit"]),
    help="A form that editors and CI read; files keep their names in it.",
)
@click.option("--statistics", is_flag=True, help="How often each check found something, and nothing else.")
@click.option("--fix", is_flag=True, help="Mend what can be mended safely, and report the rest.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option(
    "--unsafe-fixes", "unsafe", is_flag=True, help="Mend what may change what the script does, too."
)
@checks_option
@output_options
def command(
    output: Output,
    paths: tuple[str, ...],
    only: tuple[str, ...],
    skip: tuple[str, ...],
    form: str | None,
    statistics: bool,
    fix: bool,
    diff: bool,
    unsafe: bool,
    folders: tuple[Path, ...],
) -> int:
    """Find in the source of training scripts what breaks on several GPUs; nothing of it is run.

    \b
    gpudoctor lint train.py
    gpudoctor lint src/ --only ddp
    gpudoctor lint - < train.py
    gpudoctor lint --format github .
    gpudoctor lint --diff train.py
    """
    from gpudoctor.code.linting import lint, mend

    if sum((form is not None, statistics, diff, output.json, output.quiet)) > 1:
        raise click.UsageError("of --format, --statistics, --diff, --json and -q one alone can be had")
    if unsafe and not (fix or diff):
        raise click.UsageError("--unsafe-fixes belongs to --fix or --diff")
    begun = time.monotonic()
    registry = Registry.of(folders)
    with output.status() as say:
        if not (fix or diff):
            report = lint(paths, only=only, skip=skip, checks=registry, say=say, warn=output.warn)
        else:
            report, files = mend(
                paths, write=not diff, unsafe=unsafe, only=only, skip=skip, checks=registry, say=say,
                warn=output.warn,
            )  # fmt: skip
    if diff:
        output.give("".join(file.diff for file in files), None)
        return exit_code(report, output.fail_on)
    for file in files if fix else ():
        output.warn(f"{file.name}: mended {count(file.mended, 'finding')}")
    if statistics:
        output.give(tally(report), None)
        return exit_code(report, output.fail_on)
    return output.deliver(report, seconds=time.monotonic() - begun, default=form or "terminal")


def tally(report: Report) -> str:
    """Write how often each check found something, the most frequent first, and the verdict."""
    found = Counter(finding.id for finding in report.findings)
    titles = {finding.id: (finding.severity.value, finding.title) for finding in report.findings}
    rows = sorted(found.items(), key=lambda item: (-item[1], item[0]))
    width = max((len(id) for id, _ in rows), default=0)
    lines = [f"{number:5}  {titles[id][0]:<7}  {id:<{width}}  {titles[id][1]}" for id, number in rows]
    return "\n".join([*lines, report.verdict.sentence]) + "\n"
