"""How the time of a step changes with the devices, as a table and a picture, for a terminal and for Markdown."""

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gpudoctor.facts.scaling import Scaling, ScalingRun
from gpudoctor.render.lines import hang

PARTS = {"data": ".", "forward": "=", "backward": "#", "communication": "!", "update": "+"}
"""The parts of a step, in their order, and how a bar shows them."""
COLOURS = {
    "data": "#999999",
    "forward": "#4477aa",
    "backward": "#225588",
    "communication": "#cc3311",
    "update": "#ddaa33",
}
WIDTH = 50
"""Columns of the longest bar."""
HEADER = ["mode", "devices", *PARTS, "step", "speed-up", "efficiency", "limited by"]
SHORT = {"communication": "comm.", "efficiency": "effic."}
"""Names of columns on a terminal, where all of them and their figures fit into 80."""
ROW, LEFT, LONG = 22, 110, 480
"""Of the picture: the height of a row, where bars begin, the length of the longest; in pixels."""


def rows(scaling: Scaling) -> list[list[str]]:
    """Return the table; times in milliseconds."""
    found = []
    for run in scaling.runs:
        if run.failure is not None:
            found.append([run.mode, str(run.devices), *[""] * (len(HEADER) - 3), run.failure])
            continue
        times = [f"{getattr(run, part) * 1000:.2f}" for part in PARTS]
        speedup, efficiency = scaling.speedup(run), scaling.efficiency(run)
        found.append(
            [run.mode, str(run.devices), *times, f"{run.seconds * 1000:.2f}",
             "" if speedup is None else f"{speedup:.2f}",
             "" if efficiency is None else f"{efficiency:.0%}", scaling.limit(run) or ""]
        )  # fmt: skip
    return found


def title(scaling: Scaling) -> str:
    """Say what was measured."""
    about = (
        f"{scaling.model} on {scaling.data}, {scaling.batch} images a step over all devices, on {scaling.on}"
    )
    return f"milliseconds of a step: {about}"


def bar(run: ScalingRun, longest: float) -> str:
    """Draw a step in proportion to the longest one."""
    return "".join(mark * round(WIDTH * getattr(run, part) / longest) for part, mark in PARTS.items())


def measured(scaling: Scaling) -> list[ScalingRun]:
    """Return the runs that have times."""
    return [run for run in scaling.runs if run.failure is None]


def render(scaling: Scaling, console: Console) -> None:
    """Print the table and the picture."""
    hang(console, Text(title(scaling), "bold"), 2)
    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    *columns, _ = HEADER
    for number, name in enumerate(columns):
        table.add_column(SHORT.get(name, name), justify="right" if number else "left", no_wrap=True)
    found = rows(scaling)
    for *cells, _ in found:
        table.add_row(*map(Text, cells))
    console.print(table, soft_wrap=not console.is_terminal)
    for run, (*_, limit) in zip(scaling.runs, found, strict=True):
        if limit:
            why = "" if run.failure is not None else "limited by "
            hang(console, Text(f"  {run.mode} on {run.devices}: {why}{limit}"), 4)
    console.print()
    longest = max((run.seconds for run in measured(scaling)), default=0.0)
    for run in measured(scaling):
        name = f"{run.mode} {run.devices}"
        console.print(Text(f"  {name:<14} {bar(run, longest)}"), soft_wrap=True)
    marks = "  ".join(f"{mark} {part}" for part, mark in PARTS.items())
    console.print(Text(f"  {'':<14} {marks}", "dim"), soft_wrap=True)
    console.print()


def markdown(scaling: Scaling) -> str:
    """Write the table and the picture as Markdown."""
    lines = [
        f"**{title(scaling)}**",
        "",
        _row(HEADER),
        _row(["---"] * len(HEADER)),
        *map(_row, rows(scaling)),
    ]
    return "\n".join([*lines, "", svg(scaling)])


def _row(cells: list[str]) -> str:
    return (
        "| "
        + " | ".join(cell.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ") for cell in cells)
        + " |"
    )


def svg(scaling: Scaling) -> str:
    """Draw the steps as bars, one run below the other; without an empty line, which would end it in Markdown."""
    runs = measured(scaling)
    longest = max((run.seconds for run in runs), default=1.0)
    height = ROW * (len(runs) + 1) + 8
    start = f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + LONG + 90}" height="{height}" '
    shapes = [start + 'font-family="sans-serif" font-size="12">']
    for number, run in enumerate(runs):
        y, x = ROW * number + 4, float(LEFT)
        shapes.append(f'<text x="4" y="{y + 14}">{run.mode} {run.devices}</text>')
        for part, colour in COLOURS.items():
            width = LONG * getattr(run, part) / longest
            shapes.append(
                f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 4}" fill="{colour}"/>'
            )
            x += width
        shapes.append(f'<text x="{x + 4:.1f}" y="{y + 14}">{run.seconds * 1000:.2f} ms</text>')
    y = ROW * len(runs) + 4
    for number, (part, colour) in enumerate(COLOURS.items()):
        x = LEFT + number * 110
        shapes.append(f'<rect x="{x}" y="{y + 4}" width="10" height="10" fill="{colour}"/>')
        shapes.append(f'<text x="{x + 14}" y="{y + 14}">{part}</text>')
    return "\n".join([*shapes, "</svg>"])
