"""``gpudoctor run``."""

import os
import sys
from pathlib import Path

import rich_click as click

from gpudoctor.cli.options import checks_option
from gpudoctor.cli.output import Output
from gpudoctor.registry import Registry

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
        from gpudoctor.facts import Run
        from gpudoctor.logs.explain import explain_run

        run = Run(name=os.path.basename(arguments[0]), exit_code=ended.code, seconds=round(ended.seconds, 3))
        report = explain_run(run, ended.output.decode("utf-8", "replace"), Registry(folders))
        output.tell(report, ended.seconds)
    return ended.code
