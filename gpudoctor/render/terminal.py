"""A report for human eyes: healthy layers in a line each, problems in full, one sentence of verdict.

Plain ASCII by itself; rich adds colour on a terminal that has it and honours NO_COLOR.
"""

import re

import msgspec
from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from gpudoctor.facts import CheckpointFile, CheckpointValues, Comparison, Given, Measurements, Python, Scaling
from gpudoctor.model import Finding, Fix, Role, Severity, Source
from gpudoctor.render.control_characters import harmless_report
from gpudoctor.render.json import packed
from gpudoctor.render.layers import layers
from gpudoctor.render.lines import INDENT, STYLES, block, hang
from gpudoctor.render.marks import besides, legend, mark
from gpudoctor.render.source_lines import excerpt, heading, own_line
from gpudoctor.render.topology import topology
from gpudoctor.render.topology import wanted as topology_wanted
from gpudoctor.render.unseen import not_checked, not_seen, untold
from gpudoctor.report import CheckStatus, Report
from gpudoctor.snapshot import Snapshot
from gpudoctor.text import count

FIXES = 2
"""Fixes of a finding that are shown at once: the first is what to try first."""
WORD = re.compile(r"[\w']+")
SHORTEST = 4
"""Letters of a word that says something."""
ALIKE = 0.65
"""The part of a title's words with which a message says the title again."""


def render(
    report: Report,
    console: Console,
    *,
    keys: str | None = None,
    verbose: bool = False,
    seconds: float | None = None,
) -> None:
    """Print a report; `verbose` adds every fact and every duration, `keys` is a glob for those of checkpoints."""
    report = harmless_report(report)
    snapshot = Snapshot(report.facts, report.probes)
    _head(report, snapshot, console)
    _given(snapshot, console)
    if report.checks and snapshot.machine:
        _layers(report, snapshot, console)
    _measured(snapshot, console)
    if snapshot.get(CheckpointFile) is not None:
        from gpudoctor.render.checkpoint import render as render_checkpoints

        render_checkpoints(report, console, keys=keys, verbose=verbose)
    drawn = {line for comparison in snapshot.all(Comparison) for line in comparison.evidence}
    causes = [
        replace(finding, evidence=[each for each in finding.evidence if each.text not in drawn])
        for finding in report.findings
        if finding.role is Role.CAUSE
    ]
    for finding in causes:
        _finding(finding, console, verbose=verbose)
    _legend(causes, console, verbose=verbose)
    _consequences(report, console)
    if verbose or topology_wanted(report.findings):
        _topology(snapshot, console)
    if report.proofs:
        from gpudoctor.render.proofs import render as render_proofs

        render_proofs(report.proofs, console, verbose=verbose)
    _unseen(report, console, verbose=verbose)
    if verbose:
        _everything(report, console)
    _verdict(report, console, seconds, tally=bool(report.checks) and snapshot.machine)


def _head(report: Report, snapshot: Snapshot, console: Console) -> None:
    head = Text.assemble((f"gpudoctor {report.version}", "bold"))
    python = snapshot.get(Python)
    if python is not None:
        about = ", ".join(part for part in (python.version, python.chosen) if part)
        head.append(f"   patient {python.executable or 'python'} ({about})")
    hang(console, head, 2)
    console.print()


def _given(snapshot: Snapshot, console: Console) -> None:
    """Print which file was taken for what."""
    given = snapshot.get(Given)
    if given is None or not given.files:
        return
    width = max(len(file.kind.value) for file in given.files)
    for file in given.files:
        line = Text(f"  {file.kind.value:<{width}}  {'standard input' if file.path == '-' else file.path}")
        hang(console, line.append(": not read" if file.unread else "", STYLES["unknown"]), width + 4)
    console.print()


def _layers(report: Report, snapshot: Snapshot, console: Console) -> None:
    """Print how each layer of a machine is, in a line each."""
    rows = layers(snapshot, report.findings)
    width = max((len(name) for name, _, _ in rows), default=0)
    for name, state, text in rows:
        line = Text(f"  {name:<{width}}  ").append(f"{state:<7}", STYLES[state]).append(f"  {text}")
        hang(console, line, width + 13)
    console.print()


def _measured(snapshot: Snapshot, console: Console) -> None:
    """Print what was measured: the machine's devices, and the times of steps on more and more of them."""
    if (measured := snapshot.get(Measurements)) is not None:
        from gpudoctor.render.measurements import render as render_measurements

        render_measurements(measured, console)
    if (scaling := snapshot.get(Scaling)) is not None:
        from gpudoctor.render.scaling import render as render_scaling

        render_scaling(scaling, console)


def _finding(finding: Finding, console: Console, *, verbose: bool) -> None:
    """Print a finding with its first fixes, all if `verbose`; of a note what it is, and where to read more."""
    severity = finding.severity.value
    repeated = _says_again(finding.message, finding.title)
    title = finding.message[:1].upper() + finding.message[1:] if repeated else finding.title
    own = own_line(finding)
    if finding.location is not None and (finding.source is Source.CODE or own is not None):
        heading(console, finding, finding.location, title)
    else:
        line = Text.assemble((f"{severity:>7}  ", STYLES[severity]), (finding.id, "bold"), f"   {title}")
        hang(console, line, INDENT)
    if not repeated:
        block(console, finding.message)
    excerpt(console, finding)
    for evidence in finding.evidence[own is not None :]:
        where = f"{evidence.where}: " if evidence.where else ""
        rank = f"[rank {evidence.rank}] " if evidence.rank is not None else ""
        for number, row in enumerate(evidence.text.splitlines() or [""]):
            block(console, ("| " + where + rank if number == 0 else "| ") + row, "dim")
    shown = _shown(finding, verbose=verbose)
    for fix in shown:
        line = Text.assemble(("    fix  ", "green"), fix.summary + besides(fix), (mark(fix), "dim"))
        hang(console, line, INDENT)
        for row in fix.command.splitlines():
            # No wrapping: this is what gets copied.
            console.print(Text(" " * INDENT + "  " + row, "bold"), soft_wrap=True)
    left = len(finding.fixes) - len(shown) if shown else 0
    more = f"{count(left, 'more fix', 'more fixes')}: " if left else ""
    console.print(Text(f"   more  {more}gpudoctor show {finding.id}", "dim"), soft_wrap=True)
    console.print()


def _says_again(message: str, title: str) -> bool:
    """Return whether a message says all of the title, with what was found put into it: one of them is enough."""
    own = {word for word in WORD.findall(title.lower()) if len(word) >= SHORTEST}
    said = set(WORD.findall(message.lower()))
    return message.lower().startswith(title.lower()) or len(own & said) >= max(2, ALIKE * len(own))


def _shown(finding: Finding, *, verbose: bool) -> list[Fix]:
    """Return the fixes that are printed: the first ones, all if `verbose`; of a note none."""
    if verbose:
        return finding.fixes
    return [] if finding.severity is Severity.NOTE else finding.fixes[:FIXES]


def _legend(findings: list[Finding], console: Console, *, verbose: bool) -> None:
    """Explain the marks of the fixes in a line."""
    meaning = legend(fix for finding in findings for fix in _shown(finding, verbose=verbose))
    if meaning:
        hang(console, Text(f"  marks  {meaning}", "dim"), INDENT)
        console.print()


def _consequences(report: Report, console: Console) -> None:
    """Print what only followed, in a line each."""
    followed = [finding for finding in report.findings if finding.role is Role.CONSEQUENCE]
    for finding in followed:
        place = next((e.where for e in finding.evidence if e.where), None)
        line = Text.assemble(("  after  ", "dim"), finding.id, f"   {finding.message.splitlines()[0]}")
        hang(console, line.append(f"  {place}" if place else "", "dim"), INDENT)
    if followed:
        console.print()


def _topology(snapshot: Snapshot, console: Console) -> None:
    """Print how the GPUs are connected, where there are several."""
    picture = topology(snapshot)
    if picture is None:
        return
    console.print(Text("topology", "bold"))
    for row in picture.splitlines():
        # No wrapping: the columns belong together.
        console.print(Text(f"  {row}"), soft_wrap=True)
    console.print()


def _unseen(report: Report, console: Console, *, verbose: bool) -> None:
    """Print what could not be checked, and why; of a pasted text in a line, unless `verbose`."""
    style = STYLES["unknown"]
    summary = "" if verbose else untold(report)
    rows = {} if summary else not_checked(report, crashed=False)
    lines = [("  not checked  ", f"{', '.join(ids)} ({reason})") for reason, ids in rows.items()]
    if summary:
        lines = [("  not checked  ", f"{summary} (-v names the checks)")]
    for reason, ids in not_checked(report, crashed=True).items():
        lines.append(("  not checked  ", f"{', '.join(ids)} (crashed: {reason})"))
    for probe in not_seen(report):
        text = f"{probe.name} ({probe.status.value}: {probe.reason or 'no reason given'})"
        lines.append(("  not seen     ", text))
    for label, text in lines:
        hang(console, Text.assemble((label, style), text), 15)
    if lines:
        console.print()


def _everything(report: Report, console: Console) -> None:
    console.print(Text("facts", "bold"))
    for topic, fact in report.facts.items():
        if isinstance(fact, (CheckpointFile, CheckpointValues, Comparison)):
            continue  # drawn above
        for name, value in (msgspec.to_builtins(fact)).items():
            console.print(Text(f"  {topic}.{name} = {packed(value).decode()}"), soft_wrap=True)
    console.print(Text("\nprobes", "bold"))
    for probe in sorted(report.probes, key=lambda p: -p.seconds):
        console.print(Text(f"  {probe.seconds:7.3f} s  {probe.status.value:<8} {probe.name}"), soft_wrap=True)
    console.print(Text("\nchecks", "bold"))
    for result in report.checks:
        text = f"  {result.seconds:7.3f} s  {result.status.value:<8} {result.id}"
        console.print(Text(text), soft_wrap=True)
    console.print()


def _verdict(report: Report, console: Console, seconds: float | None, *, tally: bool) -> None:
    verdict = report.verdict
    sentence = verdict.sentence
    for finding in report.findings[:1]:
        sentence = sentence.replace(f": {finding.message}", "")  # it stands above
    line = Text.assemble((sentence, STYLES[verdict.status.value]))
    if tally:
        counts = [(sum(r.status is s for r in report.checks), s.value) for s in CheckStatus]
        ended = ", ".join(f"{number} {word}" for number, word in counts if number)
        took = f" in {seconds:.1f} s" if seconds is not None else ""
        line.append(f" {count(len(report.checks), 'check')}{took}: {ended}.")
    hang(console, line, 0)
