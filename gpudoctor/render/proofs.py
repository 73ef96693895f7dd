"""What reproductions and training modes showed, for a terminal: the point first, all of it with ``-v``."""

import re
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gpudoctor.grounds import device
from gpudoctor.render.lines import INDENT, STYLES, block, hang
from gpudoctor.report import Proof, ProofStatus

MANY = 2
"""Above so many proofs a row each is enough."""
LINES, LAST = 6, 3
"""Lines of an exception's message that are shown, and of an output in which no exception stands."""
LENGTH = 200
"""Characters of a line that are shown: torch's longest messages name every cause that they know."""
EXCEPTION = re.compile(r"(?:\[[^\]]+\]:?\s*)*(?:\w+\.)*[A-Z]\w*(?:Error|Exception|Interrupt|Exit)\b")

LOGGER = re.compile(r"[DIWEF]\d{4} \d\d:\d\d:\d\d\.\d+ \d+ \S+:\d+\] ?")
"""What torch's Python logger, torchrun's, puts before each line."""
BANNER = re.compile(r"\s*$|\*{20,}$|Setting OMP_NUM_THREADS environment variable ")
"""What torchrun says at every start."""


def render(proofs: Sequence[Proof], console: Console, *, verbose: bool = False) -> None:
    """Print proofs: many of them in a table, few of them, or all if `verbose`, with what was said."""
    if len(proofs) > MANY and not verbose:
        _table(proofs, console)
        return
    for proof in proofs:
        _proof(proof, console, verbose=verbose)


def _table(proofs: Sequence[Proof], console: Console) -> None:
    """Print many proofs, a row each."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("proof", "broken.py", "fixed.py", "seconds", ""):
        table.add_column(name, no_wrap=bool(name), justify="right" if name == "seconds" else "left")
    for proof in proofs:
        broken, seconds = proof.broken.value if proof.broken else "", f"{proof.seconds:.1f}"
        remark = proof.reason or (f"shown on {proof.shown_on}" if proof.shown_on else "")
        row = (proof.id, broken, proof.fixed.value, seconds, remark)
        table.add_row(*row, style=STYLES[_state(proof)])
    console.print(table)
    console.print()


def _state(proof: Proof) -> str:
    return "ok" if proof.held else "unknown" if proof.fixed is ProofStatus.NOT_RUN else "broken"


def _proof(proof: Proof, console: Console, *, verbose: bool) -> None:
    """Print what a reproduction or a training mode showed: the error, the symptom, the difference, how it ended."""
    state = _state(proof)
    word = {"ok": "proven", "unknown": "not run", "broken": "failed"}[state]
    if proof.broken is None and proof.fixed is ProofStatus.PASSED:
        word = "passed"
    line = Text.assemble((f"{word:>7}  ", STYLES[state]), (proof.id, "bold"))
    if proof.label or proof.shown_on:
        line.append("   " + (proof.label or f"shown on {proof.shown_on}"))
    hang(console, line, INDENT)
    shown = said(proof, verbose=verbose)
    if shown:
        block(console, "broken.py says" if proof.broken else "its last words:")
    for row in shown:
        hang(console, Text(" " * INDENT + "| " + row, "dim"), INDENT + 2)
    if proof.symptom:
        symptom = LOGGER.sub("", proof.symptom, count=1)
        there = any(symptom in row for row in said(proof, length=None))
        where = "there" if there else f"in: {_cut(proof.symptom, None if verbose else LENGTH)}"
        block(console, f"the check's own symptom matches {where}")
    if proof.difference:
        block(console, "the fix, as the difference between broken.py and fixed.py:")
    for row in (proof.difference or "").splitlines():
        style = "green" if row.startswith("+") else "red" if row.startswith("-") else "dim"
        console.print(Text(" " * INDENT + row, style), soft_wrap=True)
    if proof.held and proof.broken:
        block(console, f"fixed.py passes, {_on(proof)}", STYLES["ok"])
    if proof.metrics:
        block(console, ", ".join(f"{name} {_number(value)}" for name, value in proof.metrics.items()))
    for note in proof.notes:
        block(console, f"note: {note}")
    if proof.reason:
        block(console, proof.reason)
    console.print()


def said(proof: Proof, length: int | None = LENGTH, *, verbose: bool = False) -> list[str]:
    """Return what a script said at its end: the exception's own lines, cut to a length, or all if `verbose`."""
    rows = (proof.error or "").splitlines()
    if verbose:
        return rows
    bare = [LOGGER.sub("", row, count=1) for row in rows]
    rows = [row for row in bare if not BANNER.match(row)]
    begins = max((n for n, row in enumerate(rows) if EXCEPTION.match(row)), default=None)
    ending = rows[-LAST:] if begins is None else rows[begins:]
    kept = ending if len(ending) <= LINES else [*ending[: LINES - 1], ending[-1]]
    return [_cut(row, length) for row in kept]


def _cut(row: str, length: int | None) -> str:
    return row if length is None or len(row) <= length else row[:length].rstrip() + " ..."


def _on(proof: Proof) -> str:
    """Return what it ran with."""
    return f"with {f'torch {proof.torch}' if proof.torch else 'a Python without torch'} on {device(proof)}"


def _number(value: float | int | bool | None) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "unknown" if value is None else f"{value:.4g}"
