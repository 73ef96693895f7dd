"""How a checkpoint compares with a model or with another checkpoint, for a terminal."""

from rich.console import Console
from rich.text import Text

from gpudoctor.facts.comparison import Comparison, Outcome
from gpudoctor.render.lines import hang
from gpudoctor.text import count, harmless

STYLES = {Outcome.LOADS: "green", Outcome.PREFIX: "bold yellow"}
SHOWN = 12
"""Tensors and groups that are shown without ``-v``."""


def render(comparison: Comparison, console: Console, *, verbose: bool = False) -> None:
    """Print a comparison, without its sentence where that is empty; `verbose` shows every tensor that differs."""
    place = f"entry {comparison.entry} of " if comparison.entry else ""
    target = comparison.target + (f", entry {comparison.target_entry}" if comparison.target_entry else "")
    _line(console, f"{place}{comparison.path or 'the file'} against {target}", "bold")
    numbers = (
        f"  {count(comparison.keys, 'tensor')} in the file, {comparison.target_keys} in the target, "
        f"{comparison.matched} under the same name{_after(comparison)}"
    )
    _prose(console, numbers, 2)
    if comparison.sentence:
        style = STYLES.get(comparison.outcome, "bold red")
        _prose(console, f"  {comparison.outcome.value:<14}{comparison.sentence}", 16, style)
    _shapes(comparison, console, verbose=verbose)
    _groups(comparison, console, verbose=verbose)
    for title, texts in (("known", comparison.drift), ("renamed", comparison.likely)):
        for text in texts:
            _prose(console, f"    {title:<12}{text}", 16)
    for note in comparison.notes:
        _prose(console, f"    note        {note}", 16, "dim")
    for title, lines in (("load", comparison.load_line), ("mend", comparison.fix_line)):
        if lines:
            _line(console, f"    {title}", "green")
        for line in lines.splitlines():
            _line(console, f"      {line}", "bold")


def _after(comparison: Comparison) -> str:
    if comparison.renames:
        return " after " + ", ".join(f"s/{old}/{new}/" for old, new in comparison.renames)
    words = [f"taking off {comparison.strip}"] if comparison.strip else []
    words += [f"putting {comparison.add} in front"] if comparison.add else []
    return " after " + " and ".join(words) if words else ""


def _shapes(comparison: Comparison, console: Console, *, verbose: bool) -> None:
    shown = comparison.shapes if verbose else comparison.shapes[:SHOWN]
    if not shown:
        return
    width = min(60, max(len(difference.name) for difference in shown))
    for difference, after in zip(shown, [*shown[1:], None], strict=True):
        sides = f"{[*difference.own]} in the file, {[*difference.other]} in the target"
        _line(console, f"    {difference.name:<{width}}  {sides}")
        if difference.reason and (after is None or after.reason != difference.reason):
            _line(console, f"    {'':<{width}}  {difference.reason}", "dim")
    _rest(console, len(comparison.shapes) - len(shown), "tensor")


def _groups(comparison: Comparison, console: Console, *, verbose: bool) -> None:
    shown = comparison.groups if verbose else comparison.groups[:SHOWN]
    if not shown:
        return
    width = min(60, max(len(group.stem) for group in shown))
    for group in shown:
        sides = [f"{group.own} in the file alone"] if group.own else []
        sides += [f"{group.other} in the target alone"] if group.other else []
        _line(console, f"    {group.stem:<{width}}  {', '.join(sides)}")
        if group.nearest:
            like = "the same shape" if group.same_shape else "another shape"
            _line(console, f"    {'':<{width}}  {group.example}; nearest {group.nearest}, {like}", "dim")
    _rest(console, len(comparison.groups) - len(shown), "group")


def _rest(console: Console, number: int, word: str) -> None:
    if number:
        _line(console, f"    and {count(number, 'more ' + word)} (-v shows all)", "dim")


def _prose(console: Console, text: str, indent: int, style: str = "") -> None:
    """Print a sentence, whose lines after the first are indented."""
    hang(console, Text(harmless(text), style), indent)


def _line(console: Console, text: str, style: str = "") -> None:
    """Print a line as it is: what gets copied must not be wrapped, what comes from strangers not be obeyed."""
    console.print(Text(harmless(text), style), soft_wrap=True)
