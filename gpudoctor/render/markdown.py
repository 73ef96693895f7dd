"""A report as a ticket for an issue tracker: what a maintainer reads first, and the whole report to examine again."""

from collections.abc import Sequence

from msgspec.structs import replace

from gpudoctor.facts import Given, Measurements, Scaling
from gpudoctor.model import Finding
from gpudoctor.render.control_characters import harmless_report
from gpudoctor.render.environment import environment_block
from gpudoctor.render.json import encode, packed
from gpudoctor.render.marks import besides, language, sentence
from gpudoctor.render.topology import topology
from gpudoctor.render.unseen import not_checked, not_seen, untold
from gpudoctor.report import Proof, ProofStatus, Report
from gpudoctor.snapshot import Snapshot

MOST = 65_000
"""Characters. GitHub refuses an issue body of more than 65,536."""
SUMMARY = "The whole report: save this ticket and run <code>gpudoctor check --from ticket.md</code>"
LEFT_OUT = (
    "Not in the whole report here, which would not fit into an issue with it (`-o report.json` holds all):"
)
PRIVACY = "Host names, users, addresses and paths are replaced by aliases."


def ticket(report: Report) -> str:
    """Write a report as Markdown.

    Where the ticket would not fit into an issue otherwise, the JSON loses its indentation, then the largest topics of
    its facts; that they are not there is said.
    """
    shown = harmless_report(report)
    text = _ticket(shown, encode(report))
    left_out: list[str] = []
    facts = dict(report.facts)
    while len(text) > MOST:
        text = _ticket(shown, packed(replace(report, facts=facts)).decode() + "\n", left_out)
        if len(text) <= MOST or not facts:
            break
        left_out.append(max(facts, key=lambda topic: len(packed(facts[topic]))))
        del facts[left_out[-1]]
    return text


def _ticket(report: Report, json: str, left_out: Sequence[str] = ()) -> str:
    snapshot = Snapshot(report.facts, report.probes)
    parts = [f"**{report.verdict.sentence}**"]
    given = snapshot.get(Given)
    if given is not None and given.files:
        taken = (f"- {f.kind.value}: `{f.path}`" + (" (not read)" if f.unread else "") for f in given.files)
        parts += ["### Read beside the machine", "\n".join(map(_plain, taken))]
    if report.findings:
        parts += ["### Findings", *map(_finding, report.findings)]
    if report.proofs:
        parts += ["### Proofs", "\n".join(map(_proof, report.proofs))]
        parts += [f"```diff\n{p.difference}```" for p in report.proofs if p.difference]
    measured = snapshot.get(Measurements)
    if measured is not None:
        from gpudoctor.render.measurements import markdown

        parts += ["### Measurements", markdown(measured)]
    scaling = snapshot.get(Scaling)
    if scaling is not None:
        from gpudoctor.render.scaling import markdown as scaling_markdown

        parts += ["### Scaling", scaling_markdown(scaling)]
    if rows := _not_checked(report):
        parts += ["### Not checked", "\n".join(rows)]
    if picture := topology(snapshot):
        parts += ["### Topology", _fence(picture)]
    parts += [
        "### Environment",
        _fence(environment_block(snapshot)),
        f"<details>\n<summary>{SUMMARY}</summary>",
        # Escaped, so that nothing in a string can end the fence or the details block.
        "```json\n" + json.replace("`", "\\u0060").replace("<", "\\u003c") + "```",
        "</details>",
        *([f"{LEFT_OUT} {', '.join(left_out)}."] if left_out else []),
        f"<sub>gpudoctor {report.version}, {report.created}. {PRIVACY}</sub>",
    ]
    return "\n\n".join(parts) + "\n"


def _fence(text: str, language: str = "") -> str:
    mark = "```"
    while mark in text:
        mark += "`"
    return f"{mark}{language}\n{text}\n{mark}"


def _plain(text: str) -> str:
    """Keep text from being read as HTML, and a name from being read as a mention."""
    return text.replace("<", "&lt;").replace("@", "@\u200b")


def _finding(finding: Finding) -> str:
    title = f"#### {finding.severity.value}: `{finding.id}`: {_plain(finding.title)}"
    lines = [title, _plain(finding.message)]
    if finding.evidence:
        quoted = (f"{e.where}: {e.text}" if e.where else e.text for e in finding.evidence)
        lines.append(_fence("\n".join(quoted)))
    for fix in finding.fixes:
        said = f". {sentence(fix.known)}" if fix.known else ""
        lines.append(f"Fix{besides(fix)}: {_plain(fix.summary)}{said}")
        if fix.command:
            lines.append(_fence(fix.command, language(fix)))
    return "\n\n".join(lines)


def _proof(proof: Proof) -> str:
    if proof.broken is None:
        words = f"training mode `{proof.id}`: {proof.fixed.value}"
    elif proof.held:
        words = f"`{proof.id}`: the broken script failed with this error, the fixed one passed"
    else:
        words = f"`{proof.id}`: broken.py {proof.broken.value}, fixed.py {proof.fixed.value}"
    shown_on = f"shown on {proof.shown_on}" if proof.shown_on else ""
    details = [proof.label or "", shown_on, proof.reason or "", *proof.notes]
    details += [f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in proof.metrics.items()]
    mark = "x" if proof.held else " "
    skipped = " (not run)" if proof.fixed is ProofStatus.NOT_RUN else ""
    return f"- [{mark}] {words}{skipped}" + "".join(f"; {_plain(d)}" for d in details if d)


def _not_checked(report: Report) -> list[str]:
    """Return what could not be checked, a row for each reason; of a pasted text folded away."""
    rows = [
        f"- {', '.join(f'`{id}`' for id in ids)}: {_plain(reason)}"
        for crashed in (True, False)
        for reason, ids in not_checked(report, crashed=crashed).items()
    ]
    rows += [f"- probe `{p.name}`: {_plain(p.reason or p.status.value)}" for p in not_seen(report)]
    summary = untold(report)
    if summary:
        return [f"<details>\n<summary>{_plain(summary)}</summary>\n", *rows, "\n</details>"]
    return rows
