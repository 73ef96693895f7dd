"""What every command has in common: the output options, the one door through which a report leaves, the exit code."""

import contextlib
import datetime
import functools
import io
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click

from gpudoctor import __version__
from gpudoctor.cli import COULD_NOT, FINDINGS
from gpudoctor.model import CheckStatus, ProbeStatus, ProofStatus, Report, Severity, Status

if TYPE_CHECKING:
    from rich.console import Console

FORMATS = {".json": "json", ".md": "markdown"}


@dataclass(frozen=True)
class Output:
    """The options that every command shares."""

    json: bool = False
    file: str | None = None
    quiet: bool = False
    verbose: bool = False
    fail_on: str = "error"
    redact: bool = True

    def prepare(self) -> None:
        """Refuse an output file that cannot be written, before the work and not after it."""
        if self.file is not None:
            folder = Path(self.file).resolve().parent
            if not folder.is_dir() or not os.access(folder, os.W_OK):
                raise click.UsageError(f"-o {self.file}: the folder cannot be written to")
            if Path(self.file).is_dir():
                raise click.UsageError(f"-o {self.file}: it is a folder")

    def status(self) -> "contextlib.AbstractContextManager[Callable[[str], None]]":
        """Show on a terminal what is being done; elsewhere nothing."""
        return _status(sys.stderr.isatty() and not self.quiet)

    def deliver(self, report: Report, *, seconds: float | None = None, default: str = "terminal") -> int:
        """Write a report where the options say, and return the exit code.

        Everything but a terminal's own picture goes through redaction: what is piped or saved gets attached.
        """
        self._save(report, seconds, default)
        if self.json:
            put(self.text(report, "json", seconds))
        elif self.quiet:
            put(self.text(report, "verdict", seconds))
        elif default != "terminal" and self.file is None:
            put(self.text(report, default, seconds))
        elif default == "terminal" and sys.stdout.isatty():
            self.print(report, make_console(sys.stdout), seconds)
        elif default == "terminal":
            put(self.text(report, "terminal", seconds))
        return exit_code(report, self.fail_on)

    def tell(self, report: Report, seconds: float | None = None) -> None:
        """Write a report beside the output of another command: on standard error, and in the file of ``-o``."""
        self._save(report, seconds, "terminal")
        if sys.stderr.isatty():
            self.print(report, make_console(sys.stderr), seconds)
        else:
            sys.stderr.write(self.text(report, "terminal", seconds))

    def _save(self, report: Report, seconds: float | None, default: str) -> None:
        """Stamp a report, and write it to the file of ``-o`` where there is one."""
        report.version = __version__
        now = datetime.datetime.now(datetime.timezone.utc)
        report.created = report.created or now.strftime("%Y-%m-%dT%H:%M:%SZ")
        if self.file is not None:
            form = FORMATS.get(Path(self.file).suffix, default)
            write(self.file, self.text(report, form, seconds))
            print(f"gpudoctor: wrote {self.file}", file=sys.stderr)

    def give(self, text: str, data: Any) -> int:
        """Put out a text, or with ``--json`` the data behind it, into the file of ``-o`` where there is one."""
        if self.json:
            from gpudoctor.render.json import indented

            text = indented(data)
        if self.file is None:
            put(text)
        else:
            write(self.file, text)
        return 0

    def text(self, report: Report, form: str, seconds: float | None) -> str:
        """Render a report in one of its forms, without what is private on this machine."""
        if not self.redact:
            return self.render(report, form, seconds)
        from gpudoctor.redact import private, redacted, sealed

        known = private(report)
        text, left = sealed(self.render(redacted(report, known), form, seconds), known)
        if left:
            print(
                f"gpudoctor: {left} private words were left and are now hidden; please report it",
                file=sys.stderr,
            )
        return text

    def render(self, report: Report, form: str, seconds: float | None) -> str:
        """Render a report as it is: ``json``, ``markdown``, ``verdict`` or ``terminal``."""
        if form == "json":
            from gpudoctor.render.json import encode

            return encode(report)
        if form == "verdict":
            return report.verdict.sentence + "\n"
        if form == "markdown":
            from gpudoctor.render.markdown import ticket

            return ticket(report)
        text = io.StringIO()
        self.print(report, make_console(text), seconds)
        return text.getvalue()

    def print(self, report: Report, console: "Console", seconds: float | None) -> None:
        """Draw a report on a console."""
        from gpudoctor.render.terminal import render

        render(report, console, verbose=self.verbose, seconds=seconds)


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the shared options; it gets them as its first argument, an `Output`."""

    @functools.wraps(command)
    def wrapped(
        *,
        json: bool,
        file: str | None,
        quiet: bool,
        verbose: bool,
        fail_on: str,
        redact: bool,
        **options: Any,
    ) -> Any:
        output = Output(json=json, file=file, quiet=quiet, verbose=verbose, fail_on=fail_on, redact=redact)
        output.prepare()
        return command(output, **options)

    for option in (
        click.option(
            "--redact/--no-redact", default=True, help="Replace what is private in what is piped or saved."
        ),
        click.option(
            "--fail-on",
            type=click.Choice(["error", "warning", "never"]),
            default="error",
            show_default=True,
            help="The least severity that makes the exit code 1.",
        ),
        click.option("-v", "--verbose", is_flag=True, help="Every fact and every duration."),
        click.option("-q", "--quiet", is_flag=True, help="The verdict alone."),
        click.option(
            "-o",
            "--output",
            "file",
            metavar="FILE",
            help="Write to a file too; .json and .md choose the form.",
        ),
        click.option("--json", is_flag=True, help="One JSON document on standard output."),
    ):
        wrapped = option(wrapped)
    return wrapped


def exit_code(report: Report, fail_on: str) -> int:
    """Pick the exit code: 1 for findings at or above `fail_on`, 3 when the work could not be done, else 0."""
    worst = report.worst()
    bound = {"error": [Severity.ERROR], "warning": [Severity.ERROR, Severity.WARNING], "never": []}[fail_on]
    if worst in bound or (
        fail_on != "never" and not report.findings and report.verdict.status is Status.BROKEN
    ):
        return FINDINGS
    crashed = any(True for _ in report.with_status(CheckStatus.CRASHED))
    asked = [p for p in report.probes if p.status is not ProbeStatus.SKIPPED]
    idle = report.proofs and all(p.fixed is ProofStatus.NOT_RUN for p in report.proofs) and not report.checks
    if crashed or idle or (asked and all(p.status is not ProbeStatus.OK for p in asked)):
        return COULD_NOT
    return 0


def make_console(file: Any) -> "Console":
    """Make a console that wraps on a terminal and nowhere else."""
    from rich.console import Console

    terminal = file.isatty()
    return Console(file=file, highlight=False, markup=False, emoji=False, width=None if terminal else 10_000)


def telling(say: Callable[[str], None], doing: str) -> Callable[[int, int], None]:
    """Return what says how much of something is done, ``writing b.pt: 37 %``, of bytes done and all bytes."""
    return lambda done, size: say(f"{doing}: {min(100, done * 100 // max(1, size))} %")


def put(text: str) -> None:
    """Write text to standard output; what its encoding cannot hold is escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


def write(path: str, text: str) -> None:
    """Write a file whole or not at all."""
    import tempfile

    target = Path(path).resolve()
    try:
        descriptor, name = tempfile.mkstemp(prefix=".gpudoctor-", dir=target.parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            # mkstemp makes files for the owner alone; a new file gets what the user's umask allows.
            os.umask(mask := os.umask(0))
            os.chmod(name, 0o666 & ~mask)
            os.replace(name, target)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise click.UsageError(f"-o {path}: {error.strerror or error}") from None


@contextlib.contextmanager
def _status(shown: bool) -> Iterator[Callable[[str], None]]:
    if not shown:
        yield lambda text: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status("") as status:
        yield lambda text: status.update(Text(text))
