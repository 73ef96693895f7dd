"""What every command has in common: the output options, the one door through which a report leaves, the exit code."""

import contextlib
import datetime
import errno
import functools
import io
import os
import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

from gpudoctor import __version__
from gpudoctor.cli import COULD_NOT, FINDINGS
from gpudoctor.facts.topics import TOPICS
from gpudoctor.model import Severity
from gpudoctor.report import CheckStatus, ProbeStatus, ProofStatus, Report, Status
from gpudoctor.text import one_line

if TYPE_CHECKING:
    from rich.console import Console

    from gpudoctor.registry import Registry

T = TypeVar("T")

FORMATS = {".json": "json", ".md": "markdown"}


@dataclass(frozen=True)
class Drawing:
    """How a report is drawn for human eyes."""

    verbose: bool = False
    keys: str | None = None
    """A glob for the keys of checkpoints."""
    seconds: float | None = None
    """How long it all took."""


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
        if self.file is None:
            return
        if (reason := unwritable(self.file)) is not None:
            raise click.UsageError(f"-o {self.file}: {reason}")

    def status(self) -> "contextlib.AbstractContextManager[Callable[[str], None]]":
        """Show on a terminal what is being done; elsewhere nothing."""
        return _status(sys.stderr.isatty() and not self.quiet)

    def deliver(
        self,
        report: Report,
        *,
        seconds: float | None = None,
        default: str = "terminal",
        keys: str | None = None,
    ) -> int:
        """Write a report where the options say, and return the exit code; `keys` is a glob for those of checkpoints.

        Everything but a terminal's own picture goes through redaction: what is piped or saved gets attached.
        """
        drawing = Drawing(self.verbose, keys, seconds)
        self._save(report, drawing, default)
        form = "json" if self.json else "verdict" if self.quiet else default
        if form != "terminal":
            self._crashed(report)
        if form == "terminal" and sys.stdout.isatty():
            draw(report, drawing, make_console(sys.stdout))
        elif form == default != "terminal" and self.file is not None:
            pass  # a ticket goes to the file alone
        else:
            put(self.text(report, drawing, form))
        return exit_code(report, self.fail_on)

    def tell(self, report: Report, seconds: float | None = None) -> None:
        """Write a report beside the output of another command: on standard error, and in the file of ``-o``."""
        drawing = Drawing(self.verbose, None, seconds)
        self._save(report, drawing, "terminal")
        if sys.stderr.isatty():
            draw(report, drawing, make_console(sys.stderr))
        else:
            sys.stderr.write(self.text(report, drawing, "terminal"))

    def _crashed(self, report: Report) -> None:
        """Say which checks crashed, where what is put out does not say it for human eyes."""
        for result in report.with_status(CheckStatus.CRASHED):
            warn(f"check {result.id}: {result.reason}")

    def _save(self, report: Report, drawing: Drawing, default: str) -> None:
        """Stamp a report, and write it to the file of ``-o`` where there is one."""
        report.version = __version__
        now = datetime.datetime.now(datetime.timezone.utc)
        report.created = report.created or now.strftime("%Y-%m-%dT%H:%M:%SZ")
        if self.file is not None:
            form = FORMATS.get(Path(self.file).suffix, default)
            write(self.file, self.text(report, drawing, form))
            warn(f"wrote {self.file}")

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

    def safe(self, value: T) -> T:
        """Return plain data as it may be put out: without what is private, unless a terminal alone shows it."""
        if not self.redact or (sys.stdout.isatty() and not self.json):
            return value
        from gpudoctor.redact import private, redacted_tree

        return redacted_tree(value, private(Report()))

    def text(self, report: Report, drawing: Drawing, form: str) -> str:
        """Render a report in one of its forms, without what is private on this machine."""
        if not self.redact:
            return rendered(report, drawing, form)
        from gpudoctor.redact import private, redacted, sealed

        known = private(report)
        text, left = sealed(rendered(redacted(report, known), drawing, form), known)
        if left:
            warn(f"{left} private words were left and are now hidden; please report it")
        return text

    def complain(self, registry: "Registry") -> None:
        """Say which checks and plug-ins could not be loaded, where no report says so."""
        for result in registry.failed:
            warn(f"{result.id}: {result.reason}")


def rendered(report: Report, drawing: Drawing, form: str) -> str:
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
    draw(report, drawing, make_console(text))
    return text.getvalue()


def draw(report: Report, drawing: Drawing, console: "Console") -> None:
    """Draw a report on a console."""
    from gpudoctor.render.terminal import render

    render(report, console, keys=drawing.keys, verbose=drawing.verbose, seconds=drawing.seconds)


def warn(line: str) -> None:
    """Say something on standard error, on one line."""
    print(f"gpudoctor: {one_line(line)}", file=sys.stderr)


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
    read = {topic.partition(".")[0] for topic in report.facts} & TOPICS.keys()
    looked = report.checks or report.proofs or report.findings or read or not asked
    idle = report.proofs and all(p.fixed is ProofStatus.NOT_RUN for p in report.proofs) and not report.checks
    if crashed or idle or not looked or (asked and all(p.status is not ProbeStatus.OK for p in asked)):
        return COULD_NOT
    return 0


def make_console(file: Any) -> "Console":
    """Make a console that wraps on a terminal and nowhere else."""
    from rich.console import Console

    terminal = file.isatty()
    return Console(file=file, highlight=False, markup=False, emoji=False, width=None if terminal else 10_000)


def put(text: str) -> None:
    """Write text to standard output; what its encoding cannot hold is escaped."""
    encoding = sys.stdout.encoding or "utf-8"
    sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
    sys.stdout.flush()


def unwritable(path: str) -> str | None:
    """Return why nothing can be written to a path; ``None`` where something can."""
    folder = Path(path).resolve().parent
    try:
        mode = os.stat(path).st_mode
    except OSError:
        mode = None
    if mode is None or stat.S_ISREG(mode):
        return None if os.access(folder, os.W_OK) and folder.is_dir() else "the folder cannot be written to"
    if stat.S_ISDIR(mode):
        return "it is a folder"
    return None if _takes(mode) else "it is neither a file nor anything that takes text"


def _takes(mode: int) -> bool:
    """Return whether something that is no file takes text: a terminal or ``/dev/null``, a pipe."""
    return stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)


def write(path: str, text: str) -> None:
    """Write a file whole or not at all; what is a device or a pipe stays one, and is written to."""
    try:
        if os.path.exists(path) and _takes(os.stat(path).st_mode):
            # Without waiting for whoever may read a pipe one day: that there is nobody is an error at once.
            descriptor = os.open(path, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
            os.set_blocking(descriptor, True)
            with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
                stream.write(text)
        else:
            _replace(Path(path).resolve(), text)
    except OSError as error:
        reason = "nobody reads it" if error.errno == errno.ENXIO else error.strerror or error
        raise click.UsageError(f"-o {path}: {reason}") from None


def _replace(target: Path, text: str) -> None:
    import tempfile

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


@contextlib.contextmanager
def _status(shown: bool) -> Iterator[Callable[[str], None]]:
    if not shown:
        yield lambda text: None
        return
    from rich.console import Console
    from rich.text import Text

    with Console(stderr=True).status("") as status:
        yield lambda text: status.update(Text(text))
