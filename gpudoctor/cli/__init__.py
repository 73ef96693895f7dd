"""The command line: one file per command, imported when it is asked for."""

from gpudoctor import garbage

garbage.put_off()  # before all that is imported below

import fcntl
import os
import signal
import sys
from types import FrameType
from typing import Any, NoReturn

import click

from gpudoctor import __version__
from gpudoctor.bad_input import BadInput
from gpudoctor.cli.commands import Commands
from gpudoctor.cli.streams import silence, warn
from gpudoctor.interruption import Interrupted

COMMANDS = {
    "check": "Examine this machine and the Python that trains; change nothing.",
    "explain": "Name the one cause in a training log.",
    "lint": "Find in training scripts what breaks on several GPUs.",
    "checkpoint": "What is in a checkpoint, why it does not load, and a mended copy.",
    "run": "Run a command untouched, and explain it if it fails.",
    "repro": "Really train in a parallel mode, or prove a failure and its fix.",
    "report": "Write a ticket that can be examined again.",
    "show": "Print the page of one check.",
}


class Own(Commands):
    """The commands of gpudoctor."""

    known = COMMANDS
    modules = "gpudoctor.cli."


@click.group(cls=Own, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="gpudoctor %(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Find out why PyTorch training on several GPUs is broken, prove it, and print a fix that was seen to work.

    \b
    gpudoctor check                    is this machine fit, and what is wrong?
    gpudoctor explain train.log        what does this log mean?
    gpudoctor lint train.py            what is wrong in this script?
    gpudoctor checkpoint inspect m.pt  what is in it, and why does it not load?
    gpudoctor repro ddp                really train, two ranks or one per GPU
    gpudoctor report -o ticket.md      write the ticket
    gpudoctor check --from ticket.md   examine somebody's ticket
    gpudoctor show port-in-use         what is known of one failure

    \b
    Exit codes: 0 nothing at or above --fail-on, 1 findings, 2 usage or unreadable input,
    3 gpudoctor could not do its work.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    signal.signal(number, signal.SIG_IGN)  # a second one must not stop the tidying
    raise Interrupted(number)


def _said(error: click.ClickException) -> str:
    """Return what is wrong with a command line; of one that lacks something, an example too."""
    said = error.format_message().rstrip(".")
    context = error.ctx if isinstance(error, click.MissingParameter) else None
    if context is None:
        return said
    examples = (context.command.help or "").partition("\b\n")[2].splitlines()
    example = f"; for example: {examples[0].strip().partition('   ')[0]}" if examples else ""
    return f"{said}{example}; see {context.command_path} --help"


def _complain(line: str) -> None:
    """Say in one line what is wrong, without what is private unless a terminal shows it."""
    from gpudoctor.cli.output import Output

    Output(redact="--no-redact" not in sys.argv).warn(line)


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run the command line; errors of use are one line on standard error."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _interrupt)
    _open_closed()
    code: Any
    try:
        code = cli.main(arguments, prog_name="gpudoctor", standalone_mode=False)
    except BadInput as error:
        _complain(str(error))
        code = error.exit_code
    except click.ClickException as error:
        _complain(_said(error))
        code = error.exit_code
    except Interrupted as error:
        warn("interrupted")
        code = 128 + error.number
    except (BrokenPipeError, SystemExit):
        code = 0  # the reader of a pipe has gone; rich and click end the process then, and nothing else here does
    except Exception as error:
        import traceback

        traceback.print_exc()
        _complain(f"a fault of gpudoctor itself, please report it: {error!r}")
        from gpudoctor.verdict import COULD_NOT

        code = COULD_NOT
    code = _close(code if isinstance(code, int) else 0)
    garbage.leave()
    sys.exit(code)


def _open_closed() -> None:
    """Put nothing in the place of a stream that is closed (``>&-``), for us alone: a command that we run has none."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            with open(os.devnull, "w") as nothing:
                descriptor = fcntl.fcntl(nothing, fcntl.F_DUPFD_CLOEXEC, 10)
            setattr(sys, name, open(descriptor, "w", encoding="utf-8"))


def _close(code: int) -> int:
    """Flush standard output; a reader that has gone away (``| head``) is no error."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        silence(sys.stdout)
    return code
