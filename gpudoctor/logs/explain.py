"""Explain a log: from its text to a report with the one cause."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from gpudoctor.bad_input import BadInput
from gpudoctor.facts import Log, Run
from gpudoctor.logs.cause import judge, of_run
from gpudoctor.logs.corroboration import corroborate
from gpudoctor.logs.ending import ended
from gpudoctor.logs.findings import findings
from gpudoctor.logs.judgement import only_followed
from gpudoctor.logs.killed import ended_by
from gpudoctor.logs.last_words import said_why
from gpudoctor.logs.launcher import launched
from gpudoctor.logs.lines import Line, read_lines, read_text
from gpudoctor.logs.literal_index import registry_finder
from gpudoctor.logs.middle import middle
from gpudoctor.logs.names import named
from gpudoctor.logs.own_handlers import with_handlers
from gpudoctor.logs.own_source import beside_source
from gpudoctor.logs.own_variables import beside_variables
from gpudoctor.logs.raised import own_lines
from gpudoctor.logs.second_look import MOST_LINES, second_look
from gpudoctor.logs.sources import Opened, read_all
from gpudoctor.logs.symptoms import seen_in
from gpudoctor.logs.tracebacks import exceptions, quoted_source
from gpudoctor.model import Source
from gpudoctor.registry import Registry
from gpudoctor.report import Report, Say
from gpudoctor.verdict import conclude


def explain(
    log: str | Path | Iterable[Path],
    *,
    name: str = "log",
    facts: str | None = None,
    checks: Registry | Iterable[Path] = (),
    source: bool = True,
    say: Say = lambda doing: None,
    warn: Say = lambda skipped: None,
) -> Report:
    """Explain what a training printed: the one cause, what followed from it, and the fixes.

    `log` is the text itself, called `name` where it is quoted (``log:120``), or the paths of files and folders;
    ``Path("-")`` is standard input. It may hold the output of several ranks, colours, time stamps and what an issue
    tracker made of them. `facts` names a saved report or ticket to set beside it. `checks` are folders of local check
    files. With `source`, where the scripts that a traceback names lie here, as they were when it was printed, what is
    known of them is set beside it. `say` is told what is being read, `warn` what lies in a folder and cannot be read.
    Nothing is run, and torch is not needed. Raises `BadInput`.

        >>> report = gpudoctor.explain(Path("train.log"))
        >>> report.verdict.primary, [finding.message for finding in report.findings]
    """
    registry = Registry.of(checks)
    if isinstance(log, str):
        lines = read_text(log, name)
        total = len(lines)
    else:
        paths = [str(path) for path in ([log] if isinstance(log, Path) else log)]
        find = registry_finder(registry)
        lines, total = read_log(_told(read_all(paths, find, warn), say))
        find.release()
        if not total:
            raise BadInput(f"{', '.join(paths)}: nothing to read, the log is empty")
    report = explain_lines(lines, registry, total=total, scripts=source)
    report = beside_source(report, registry) if source else report
    return report if facts is None else _beside(report, facts, registry)


def _told(opened: Iterable[Opened], say: Say) -> Iterator[Opened]:
    for log in opened:
        say(f"read {log.name}")
        yield log


def read_log(opened: Iterable[Opened]) -> tuple[list[Line], int]:
    """Return the lines of all logs that were opened, and how many lines they have altogether."""
    lines: list[Line] = []
    total = 0
    for log in opened:
        lines += read_lines(log.kept.lines, log.name, log.rank, log.seconds)
        total += log.kept.total
    return lines, total


def explain_lines(
    lines: Sequence[Line],
    registry: Registry,
    *,
    total: int | None = None,
    source: Source = Source.LOG,
    run: Run | None = None,
    scripts: bool = False,
) -> Report:
    """Return the report on a log's lines.

    `total` is how many the whole log has, where these are not all of them; `run` is the command that printed them. With
    `scripts`, those that lie here are asked what they catch.
    """
    find = registry_finder(registry)
    quoted = quoted_source(lines)
    seen, failed = seen_in(lines, find, registry.get, quoted)
    raised = exceptions(lines, quoted)
    raised = with_handlers(raised) if scripts else raised
    if not seen and not failed and len(lines) <= MOST_LINES:
        seen, failed = second_look(lines, find, registry.get, quoted, raised=bool(raised))
    if run is not None:
        # The command has ended, so nothing waits; and nobody wrote anything into its output.
        seen = [one for one in seen if not (one.last or one.asked)]
    judgement = judge(lines, seen, raised)
    if run is not None:
        judgement = of_run(judgement, run)
    none = judgement.cause is None and judgement.raised is None
    shown = bool(judgement.remarks)
    ending = ended(lines, run, judgement.course, shown=shown) if none else said_why(judgement, lines)
    if ending is not None:
        judgement = only_followed(judgement)
    found, unsaid = findings(judgement, ending, lines, registry.get, source)
    log = Log(
        lines=len(lines) if total is None else total,
        middle=middle(lines) if none else "",
        own=own_lines(raised),
        **named(lines, found),
    )
    facts: dict[str, Struct] = {"log": log}
    report = Report(
        command="explain" if run is None else "run",
        findings=found,
        checks=[*failed, *unsaid, *registry.failed],
        facts=facts if run is None else facts | {"run": run},
    )
    return conclude(report, registry)


def explain_run(
    run: Run, output: str, checks: Registry | Iterable[Path] = (), scripts: Iterable[str] = ()
) -> Report:
    """Explain a command that was run, by the last part of its output; that it failed is known.

    What is known of `scripts`, those that it ran, is set beside what it printed.
    """
    registry = Registry.of(checks)
    lines = read_text(output, f"output of {run.name}")
    report = explain_lines(lines + ended_by(run, lines), registry, total=len(lines), run=run, scripts=True)
    report = beside_source(report, registry, scripts)
    # A launcher gives its ranks variables of its own.
    direct = run.name.startswith("python") and launched(lines).launcher is None
    return beside_variables(report, registry) if direct else report


def _beside(report: Report, source: str, registry: Registry) -> Report:
    """Set a log beside saved facts, examined with the checks that the log shows."""
    from gpudoctor.diagnose import diagnose
    from gpudoctor.importers import read

    saved = read(source, registry.topics)
    checks = registry.checks([finding.id for finding in report.findings])
    diagnosed = diagnose(saved.snapshot, checks)
    when = saved.report.created if saved.report is not None else ""
    return corroborate(report, diagnosed, registry, saved=when, all_findings=False)
