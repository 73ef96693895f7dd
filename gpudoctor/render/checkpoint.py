"""What is in a checkpoint, for human eyes: the file, its entries, the keys of its state dicts, what is shared."""

from collections import Counter
from collections.abc import Sequence
from fnmatch import fnmatchcase

from msgspec.structs import replace
from rich.console import Console
from rich.text import Text

from gpudoctor.facts import (
    CheckpointFile,
    CheckpointValues,
    Comparison,
    Entry,
    Foreign,
    Key,
    Outcome,
    StateDict,
)
from gpudoctor.render.keys import Row, rows
from gpudoctor.render.lines import hang
from gpudoctor.report import Report
from gpudoctor.text import byte_size, count, harmless, listed

ROWS, LAST = 24, 4
"""Rows of keys that are shown, and how many of them are the last ones."""
ENTRIES = 16
NAME = 44
"""Characters of a name that are lined up; a longer one pushes its row to the right."""
GROUPS = 4
SHOWN = 6


def render(report: Report, console: Console, *, keys: str | None = None, verbose: bool = False) -> None:
    """Print what is known of checkpoints: each file, and what was looked at of it that stands nowhere below."""
    stands = [finding.message for finding in report.findings]
    for fact in report.facts.values():
        if isinstance(fact, CheckpointFile):
            render_file(fact, console, keys=keys, verbose=verbose)
        elif isinstance(fact, CheckpointValues):
            render_values(fact, console, verbose=verbose)
        elif isinstance(fact, Comparison):
            from gpudoctor.render.comparison import render as render_comparison

            # What does not load is a finding, too, which says so and offers the lines.
            below = {} if fact.outcome is Outcome.LOADS else {"load_line": "", "fix_line": ""}
            if any(fact.said in said for said in stands) or fact.sentence in report.verdict.sentence:
                below["sentence"] = ""
            render_comparison(replace(fact, **below), console, verbose=verbose)
            console.print()


def render_file(
    file: CheckpointFile, console: Console, *, keys: str | None = None, verbose: bool = False
) -> None:
    """Print a checkpoint; `keys` is a glob that names are to match, `verbose` shows every key and entry."""
    tensors = sum(entry.tensors for entry, above in _levels(file.entries) if not above)
    version = f" {file.version}" if file.version and file.kind.startswith("torch ") else ""
    about = [file.kind + version, byte_size(file.size)]
    if tensors:
        about.append(count(tensors, "tensor"))
    hang(console, Text.assemble((harmless(file.path), "bold"), f"   {', '.join(about)}"), 2)
    for note in file.notes if verbose else [n for n in file.notes if not n.startswith("metadata ")]:
        hang(console, Text(f"  {harmless(note)}", "dim"), 4)
    console.print()
    _entries(file, console, verbose)
    for state in file.state_dicts:
        _state_dict(state, console, keys, verbose)
    _shared(file, console, verbose)
    if verbose:
        _foreign(file.foreign, console)


def render_values(values: CheckpointValues, console: Console, *, verbose: bool = False) -> None:
    """Print what a look at every number showed."""
    hang(console, Text.assemble(("  values  ", "bold"), f"{byte_size(values.read)} looked at"), 10)
    most = len(values.zero) if verbose else SHOWN
    for name, numbers in values.nonfinite[: None if verbose else 3 * SHOWN]:
        hang(console, Text(f"    NaN or infinite  {harmless(name)}: {count(numbers, 'number')}", "red"), 6)
    if len(values.nonfinite) > 3 * SHOWN and not verbose:
        more = count(len(values.nonfinite) - 3 * SHOWN, "more tensor")
        hang(console, Text(f"    NaN or infinite  {more}", "red"), 6)
    if values.zero:
        hang(console, Text(f"    all zero  {len(values.zero)}: {listed(values.zero, most, harmless)}"), 6)
    for group in values.same[: None if verbose else GROUPS]:
        hang(console, Text(f"    same bytes, stored twice  {listed(group, max(most, SHOWN), harmless)}"), 6)
    for reason, number in values.skipped:
        hang(console, Text(f"    not looked at  {count(number, 'tensor')}: {harmless(reason)}", "magenta"), 6)
    if not (values.nonfinite or values.zero or values.same or values.skipped):
        hang(console, Text("    all finite, none all zero, none twice"), 6)
    console.print()


def _entries(file: CheckpointFile, console: Console, verbose: bool) -> None:
    """Print the tree of entries; of the things inside of an entry, the first few."""
    if [entry.path for entry in file.entries] == [""]:
        entry = file.entries[0]
        article = "an" if entry.kind[:1] in "aeiou" else "a"
        text = f": {harmless(entry.text)}" if entry.text else ""
        hang(console, Text(f"  the file itself is {article} {entry.kind}{text}"), 4)
        console.print()
        return
    shown, hidden = _kept(file.entries, verbose)
    labels = [_label(entry, above) for entry, above in shown]
    width = min(max(map(len, labels), default=0), NAME)
    for (entry, _), label in zip(shown, labels, strict=True):
        line = Text(f"  {label:<{width}}  ").append(f"{entry.kind:<10}", "cyan")
        parts = [harmless(entry.text)] if entry.text else []
        if entry.tensors and entry.kind != "tensor":
            parts.append(count(entry.tensors, "tensor"))
        parts += [byte_size(entry.size)] if entry.tensors else []
        hang(console, line.append("  " + ", ".join(parts)), width + 14)
    if hidden:
        hang(console, Text(f"  ... and {hidden} more (-v shows all)", "dim"), 4)
    if shown:
        console.print()


def _levels(entries: Sequence[Entry]) -> list[tuple[Entry, str]]:
    """Return entries with the path of the one that they are in; an entry's own name may have dots."""
    above: str | None = None
    found: list[tuple[Entry, str]] = []
    for entry in entries:
        if above and entry.path.startswith(f"{above}."):
            found.append((entry, above))
        else:
            above = entry.path if entry.kind in ("dict", "list", "object") else None
            found.append((entry, ""))
    return found


def _label(entry: Entry, above: str) -> str:
    """Return an entry's name, indented where it is inside of another."""
    return f"  {harmless(entry.path[len(above) + 1 :])}" if above else harmless(entry.path)


def _kept(entries: Sequence[Entry], verbose: bool) -> tuple[list[tuple[Entry, str]], int]:
    """Return the entries that are shown, and how many are not."""
    levels = _levels(entries)
    if verbose:
        return levels, 0
    inner: Counter[str] = Counter()
    shown = []
    for entry, above in levels:
        inner[above] += 1
        if not above or inner[above] <= SHOWN:
            shown.append((entry, above))
    return shown[: 2 * ENTRIES], len(entries) - len(shown[: 2 * ENTRIES])


def _state_dict(state: StateDict, console: Console, pattern: str | None, verbose: bool) -> None:
    chosen = [k for k in state.keys if _matches(k.name, state, pattern)] if pattern else list(state.keys)
    devices = Counter(key.device for key in state.keys)
    parts = [count(len(state.keys), "key")]
    if pattern:
        parts.append(f"{len(chosen)} match {harmless(pattern)}")
    if set(devices) - {"cpu"}:
        parts.append("saved from " + ", ".join(sorted(devices)[:SHOWN]))
    title = f"state dict {harmless(state.entry)}" if state.entry else "state dict"
    hang(console, Text.assemble("  ", (title, "bold"), f"   {', '.join(parts)}"), 4)
    for prefix in state.prefixes:
        share = "all keys" if prefix.keys == prefix.total else f"{prefix.keys} of {prefix.total} keys"
        line = Text.assemble(
            "    prefix ", (harmless(prefix.text), "yellow"), f" on {share}: {prefix.wrapper}"
        )
        hang(console, line, 6)
    _keys(chosen, console, every=verbose or pattern is not None)
    if state.others and pattern is None:
        most = len(state.others) if verbose else SHOWN
        hang(console, Text(f"    no tensors: {listed(state.others, most, harmless)}", "dim"), 6)
    console.print()


def _matches(name: str, state: StateDict, pattern: str) -> bool:
    """Return whether a name is meant by a glob, with its prefix or without, or with its entry's in front."""
    fronts = ["", *(prefix.text for prefix in state.prefixes if name.startswith(prefix.text))]
    names = [name[len(front) :] for front in fronts] + [f"{state.entry}.{name}"]
    return any(fnmatchcase(candidate, pattern) for candidate in names)


def _keys(keys: Sequence[Key], console: Console, *, every: bool) -> None:
    """Print keys in columns; of many rows, the first and the last ones."""
    made = rows(keys, folded=not every)
    left_out = 0 if every or len(made) <= ROWS else len(made) - ROWS + 1
    head = made[: ROWS - LAST - 1] if left_out else made
    tail = made[-LAST:] if left_out else []
    shown = [*head, *tail]
    several = len({row.key.device for row in shown}) > 1
    widths = [
        min(max((len(harmless(row.name)) for row in shown), default=0), NAME),
        max((len(row.key.dtype) for row in shown), default=0),
        min(max((len(str([*row.key.shape])) for row in shown), default=0), 20),
    ]
    _rows(head, widths, several, console)
    if left_out:
        left = sum(row.count for row in made[len(head) : -LAST])
        more = f"    ... {count(left, 'key')} more (-v or --keys GLOB shows them)"
        console.print(Text(more, "dim"), soft_wrap=True)
    _rows(tail, widths, several, console)


def _rows(shown: Sequence[Row], widths: Sequence[int], several: bool, console: Console) -> None:
    """Print rows; where none needs wrapping all at once, for there may be a million."""
    lines = [_row(row, widths, several) for row in shown]
    if lines and (not console.is_terminal or max(map(len, lines)) <= console.width):
        console.print(Text("\n".join(lines)), soft_wrap=True)
        return
    for line in lines:
        hang(console, Text(line), 6)


def _row(row: Row, widths: Sequence[int], several: bool) -> str:
    key = row.key
    name, dtype, shape = widths
    text = f"    {harmless(row.name):<{name}}  {key.dtype:<{dtype}}  {[*key.shape]!s:<{shape}}"
    text += f"  {byte_size(key.size):>8}"
    text += f" x {row.count}" if row.count > 1 else ""
    text += f"  {key.layout}" if key.layout != "strided" else ""
    return (text + f"  {key.device}" if several else text).rstrip()


def _shared(file: CheckpointFile, console: Console, verbose: bool) -> None:
    """Print which tensors lie in one storage."""
    for group in file.shared if verbose else file.shared[:GROUPS]:
        most = len(group) if verbose else SHOWN
        hang(console, Text(f"  one storage   {listed(group, most, harmless)}"), 16)
    if len(file.shared) > GROUPS and not verbose:
        more = count(len(file.shared) - GROUPS, "more storage")
        hang(console, Text(f"  ... and {more} with several tensors (-v)", "dim"), 6)
    if file.shared:
        console.print()


def _foreign(foreign: Sequence[Foreign], console: Console) -> None:
    """Print everything that opening the file would import or call."""
    for name in foreign:
        text = f"  opening it runs   {name.opcode} {harmless(name.name)} at byte {name.place} of {harmless(name.entry)}"
        hang(console, Text(text), 20)
    if foreign:
        console.print()
