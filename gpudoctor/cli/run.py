"""``gpudoctor run``."""

import contextlib
import os
import signal
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gpudoctor.bad_input import BadInput
from gpudoctor.cli.commands import Command
from gpudoctor.cli.options import checks_option
from gpudoctor.cli.output import Output
from gpudoctor.interruption import Interrupted
from gpudoctor.registry import Registry

if TYPE_CHECKING:
    from gpudoctor.passthrough import Ended

NOT_FOUND, NOT_EXECUTABLE = 127, 126
"""What a shell answers for a command that cannot be run."""


@click.command(
    "run", cls=Command, context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False}
)
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

    Its output, exit code and signals are its own; the last 8 MiB of what it prints are kept in memory. When the
    reader of its output goes away (| head), it gets SIGPIPE as it would without gpudoctor. Where it stood still
    until it was ended, the report says which ranks waited and which had gone, and where they stood if py-spy is there.

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
    if ended.refused is not None:
        output.warn(f"{arguments[0]}: its output could not be passed on: {ended.refused}")
    # A command that ends because nobody reads on has not failed.
    if ended.code and not (ended.unread and ended.code == 128 + signal.SIGPIPE):
        with _errors_that_nobody_may_read(), _faults_of_the_explanation(output):
            _explain(arguments, ended, output, Registry.of(folders))
    return ended.code


def _explain(arguments: tuple[str, ...], ended: "Ended", output: Output, registry: Registry) -> None:
    """Write on standard error why the command failed."""
    from gpudoctor.facts import Run
    from gpudoctor.logs.explain import explain_run
    from gpudoctor.logs.own_source import scripts_of

    run = Run(
        name=os.path.basename(arguments[0]),
        exit_code=ended.code,
        seconds=round(ended.seconds, 3),
        interrupted=ended.interrupted,
        killed=ended.killed,
        oom_kills=ended.oom_kills,
        largest_bytes=ended.largest_bytes,
        silent=None if ended.silent is None else round(ended.silent, 3),
        longest_silence=round(ended.longest_silence, 3),
        lines=ended.lines,
        still=ended.still,
        ranks=ended.ranks,
        stacks=ended.stacks,
    )
    output_text = ended.output.decode("utf-8", "replace")
    report = explain_run(run, output_text, registry, scripts_of(arguments))
    output.tell(report, ended.seconds)


@contextlib.contextmanager
def _faults_of_the_explanation(output: Output) -> Iterator[None]:
    """Say why there is no explanation, or only a part of it; the exit code stays the command's."""
    try:
        yield
    except (BadInput, click.ClickException) as error:
        output.warn(str(error) if isinstance(error, BadInput) else error.format_message())
    except Interrupted:
        output.warn("interrupted")
    except OSError:
        raise
    except Exception as error:
        traceback.print_exc()
        output.warn(f"a fault of gpudoctor itself, please report it: {error!r}")


@contextlib.contextmanager
def _errors_that_nobody_may_read() -> Iterator[None]:
    """Let what is written to standard error vanish where its reader has gone: the exit code stays the command's."""
    if sys.stderr is None:  # closed by the caller
        sys.stderr = open(os.devnull, "w")
    try:
        yield
    except (OSError, SystemExit):  # rich ends the process
        # What waits in the buffer is written on the way out.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())
