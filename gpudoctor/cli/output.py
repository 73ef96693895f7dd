"""What every command has in common: the output options, the one door through which a report leaves, the exit code."""

import contextlib
import dataclasses
import datetime
import functools
import importlib
import io
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, TypeVar

import click
from msgspec.structs import replace

from gpudoctor import __version__
from gpudoctor.cli.ranks import said_by_rank
from gpudoctor.cli.streams import make_console, put, unwritable, warn, write
from gpudoctor.facts import CheckpointFile
from gpudoctor.model import Finding
from gpudoctor.report import CheckStatus, Report, Say
from gpudoctor.text import harmless
from gpudoctor.verdict import COULD_NOT, exit_code

if TYPE_CHECKING:
    from rich.console import Console

    from gpudoctor.registry import Registry

T = TypeVar("T")

FORMATS = {".json": "json", ".md": "markdown"}
SCRIPT_FORMATS = {
    "concise": "annotations",
    "github": "annotations",
    "gitlab": "gitlab",
    "sarif": "sarif",
    "junit": "junit",
}
"""Forms of a report of scripts that other programs read, each with its module of `render`."""


Draw = Callable[[Report, "Console"], None]
"""Draws a report on a console, for human eyes."""


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
        if self.file is not None and (reason := unwritable(self.file)) is not None:
            raise click.UsageError(f"-o {self.file}: {reason}")

    def refuse_quiet(self) -> None:
        """Refuse ``-q`` where no report is made."""
        if self.quiet:
            raise click.UsageError("-q prints a verdict alone, and here is none")

    @property
    def live(self) -> bool:
        """Whether somebody sees what is shown meanwhile: standard error is a terminal."""
        return sys.stderr.isatty() and not self.quiet

    @contextlib.contextmanager
    def status(self) -> Iterator[Say]:
        """Show on a terminal what is being done; elsewhere nothing."""
        if not self.live:
            yield lambda doing: None
            return
        with contextlib.ExitStack() as stack:
            yield _Spinner(stack)

    def deliver(
        self,
        report: Report,
        *,
        seconds: float | None = None,
        default: str = "terminal",
        keys: str | None = None,
        here: bool = False,
    ) -> int:
        """Write a report where the options say, and return the exit code; `keys` is a glob for those of checkpoints.

        `here` says that it speaks of this process's own launch: of many ranks few then print a verdict.
        Everything but a terminal's own picture goes through redaction: what is piped or saved gets attached.
        """
        draw = self._drawing(seconds, keys)
        self._save(report, draw, default)
        form = "json" if self.json else "verdict" if self.quiet else default
        if form != "terminal":
            self._crashed(report)
        if form == "terminal" and sys.stdout.isatty():
            draw(report, make_console(sys.stdout))
        elif form == default != "terminal" and self.file is not None:
            pass  # a ticket goes to the file alone
        else:
            text = self.text(report, draw, form)
            put(said_by_rank(report, text) if here and form == "verdict" else text)
        return exit_code(report, self.fail_on)

    def tell(self, report: Report, seconds: float | None = None) -> None:
        """Write a report beside the output of another command: on standard error, and in the file of ``-o``."""
        draw = self._drawing(seconds)
        self._save(report, draw, "terminal")
        if sys.stderr.isatty():
            draw(report, make_console(sys.stderr))
        else:
            sys.stderr.write(self.text(report, draw, "terminal"))

    def _drawing(self, seconds: float | None, keys: str | None = None) -> Draw:
        def draw(report: Report, console: "Console") -> None:
            from gpudoctor.render.terminal import render

            render(report, console, keys=keys, verbose=self.verbose, seconds=seconds)

        return draw

    def _crashed(self, report: Report) -> None:
        """Say which checks crashed, where what is put out does not say it for human eyes."""
        for result in report.with_status(CheckStatus.CRASHED):
            self.warn(f"{result.what}: {result.reason}")

    def _save(self, report: Report, draw: Draw, default: str) -> None:
        """Stamp a report, and write it to the file of ``-o`` where there is one."""
        report.version = __version__
        now = datetime.datetime.now(datetime.timezone.utc)
        report.created = report.created or now.strftime("%Y-%m-%dT%H:%M:%SZ")
        if self.file is not None:
            form = default if default in SCRIPT_FORMATS else FORMATS.get(Path(self.file).suffix, default)
            write(self.file, self.text(report, draw, form))
            self.warn(f"wrote {self.file}")

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

    def safe(self, value: T, stream: TextIO | None = None) -> T:
        """Return plain data as it may be put out: without what is private, unless a terminal alone shows it.

        Without a `stream`, it is part of what goes to standard output, where JSON is never shown as it is.
        """
        shown = stream.isatty() if stream is not None else sys.stdout.isatty() and not self.json
        if not self.redact or shown:
            return value
        from gpudoctor.redact import private, redacted_tree

        return redacted_tree(value, private(Report()))

    def warn(self, line: str) -> None:
        """Say something on standard error, on one line: as it is on a terminal, else without what is private.

        What was typed on this command line stays as it was typed, and what lies in a folder that was.
        """
        typed = "|".join(re.escape(word) for word in sorted(_typed(), key=len, reverse=True))
        below = r"(?:/[^\s'\")=,;:]*)?"
        pieces = (
            re.split(rf"(?<![^\s'\"(=,])((?:{typed}){below})(?![^\s'\")=,;:])", line) if typed else [line]
        )
        pieces[::2] = self.safe(pieces[::2], sys.stderr)
        warn("".join(pieces))

    def text(self, report: Report, draw: Draw, form: str) -> str:
        """Render a report in one of its forms, without what is private on this machine."""
        if not self.redact:
            return rendered(report, draw, form)
        from gpudoctor.redact import own_words, private, redacted, sealed

        known = private(report)
        files = [fact for fact in report.facts.values() if isinstance(fact, CheckpointFile)]
        keys = (key.name for file in files for state in file.state_dicts for key in state.keys)
        spared = [*keys, *own_words(report)]
        made = redacted(report, known)
        if form in SCRIPT_FORMATS:
            made.findings = list(map(_with_place, made.findings, report.findings))
            spared += [finding.location.path for finding in report.findings if finding.location]
        text, left = sealed(rendered(made, draw, form), known, spared)
        if left:
            warn(f"{left} private words were left and are now hidden; please report it")
        return text

    def complain(self, registry: "Registry") -> int:
        """Say which checks and plug-ins could not be loaded, where no report says so; return the exit code."""
        for result in registry.failed:
            self.warn(f"{result.what}: {result.reason}")
        return COULD_NOT if registry.failed else 0


def _typed() -> set[str]:
    """Return the words of this command line, of ``--log=train.log`` the value too."""
    words = set(sys.argv[1:])
    return {part.rstrip("/") for word in words for part in (word, word.partition("=")[2])} - {""}


class _Spinner:
    """A line on the terminal that says what is being done; its thread starts with the first word, after the forks."""

    def __init__(self, stack: contextlib.ExitStack) -> None:
        self.stack = stack
        self.status: Any = None

    def __call__(self, doing: str) -> None:
        from rich.console import Console
        from rich.text import Text

        if self.status is None:
            self.status = self.stack.enter_context(Console(stderr=True).status(""))
        self.status.update(Text(doing))


def _with_place(made: Finding, own: Finding) -> Finding:
    """Put a finding's place back: whoever reads such a form opens that file."""
    evidence = [replace(new, where=old.where) for new, old in zip(made.evidence, own.evidence, strict=True)]
    return replace(made, location=own.location, evidence=evidence)


def rendered(report: Report, draw: Draw, form: str) -> str:
    """Render a report as it is: ``json``, ``markdown``, ``verdict``, ``terminal``, or a form of `SCRIPT_FORMATS`."""
    if form in SCRIPT_FORMATS:
        module = importlib.import_module(f"gpudoctor.render.{SCRIPT_FORMATS[form]}")
        text: str = getattr(module, form)(report)
        return text
    if form == "json":
        from gpudoctor.render.json import encode

        return encode(report)
    if form == "verdict":
        return harmless(report.verdict.sentence) + "\n"
    if form == "markdown":
        from gpudoctor.render.markdown import ticket

        return ticket(report)
    drawn = io.StringIO()
    draw(report, make_console(drawn))
    return drawn.getvalue()


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the shared options; it gets them as its first argument, an `Output`."""

    @functools.wraps(command)
    def wrapped(**options: Any) -> Any:
        output = Output(**{field.name: options.pop(field.name) for field in dataclasses.fields(Output)})
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
