"""``gpudoctor run``."""

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from gpudoctor.cli.output import Output
from gpudoctor.cli.patient import checks_option, tell_trouble
from gpudoctor.registry import Registry

if TYPE_CHECKING:
    from gpudoctor.passthrough import Ended

NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""What a shell answers for a command that cannot be run."""


@click.command("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option(
    "-o",
    "--output",
    "file",
    metavar="FILE",
    help="Write the report of a failure to a file too; .json and .md choose the form.",
)
@click.option("--redact/--no-redact", default=True, help="Replace what is private in what is piped or saved.")
@checks_option
@click.argument(
    "arguments", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND [ARGUMENT]..."
)
def command(arguments: tuple[str, ...], file: str | None, redact: bool, folders: tuple[Path, ...]) -> int:
    """Run a command untouched, and explain on standard error what went wrong if it fails.

    Its output, exit code and signals are its own; the last 8 MiB of what it prints are kept in memory.

    \b
    gpudoctor run -- torchrun --nproc-per-node=gpu train.py
    gpudoctor run -o ticket.md -- python train.py
    """
    from gpudoctor.passthrough import run_command

    output = Output(file=file, redact=redact)
    output.prepare()
    try:
        ended = run_command(list(arguments))
    except OSError as error:
        print(f"gpudoctor: {arguments[0]}: {error.strerror or error}", file=sys.stderr)
        return NOT_FOUND if isinstance(error, FileNotFoundError) else NOT_EXECUTABLE
    if ended.code:
        tell(ended, arguments[0], output, Registry(folders))
    return ended.code


def tell(ended: "Ended", name: str, output: Output, registry: Registry) -> None:
    """Explain a failure: on standard error, and in the file that was asked for."""
    from gpudoctor.logs.explain import explain_lines, loader
    from gpudoctor.logs.index import finder
    from gpudoctor.logs.lines import read_text
    from gpudoctor.model import Status, Verdict

    lines = read_text(ended.output.decode("utf-8", "replace"), os.path.basename(name))
    report = explain_lines(lines, finder(registry), loader(registry))
    if report.verdict.status is Status.HEALTHY:
        said = f"{name} ended with exit code {ended.code}, and no failure that gpudoctor knows shows in its output."
        report.verdict = Verdict(status=Status.UNKNOWN, sentence=said)
    report.command = "run"
    tell_trouble(registry)
    output.tell(report, ended.seconds)
