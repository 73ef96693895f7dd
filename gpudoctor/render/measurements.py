"""What was measured, as tables: the same ones for a terminal and for Markdown."""

from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from gpudoctor.facts import Collective, Connection, DeviceSpeed, Disk, Measurements, Packets, PeerCopy
from gpudoctor.render.lines import STYLES, hang
from gpudoctor.text import byte_size

BAD = ("wrong", "hangs", "failed")
"""Cells that say so are what a reader must see."""


class Grid(NamedTuple):
    """A table: the first column names the rows."""

    title: str
    header: list[str]
    rows: list[list[str]]


def grids(measured: Measurements) -> list[Grid]:
    """Return the tables of what was measured, without those that would be empty."""
    found = [
        _devices(measured.devices),
        _clocks(measured.devices),
        _copies(measured.copies),
        _collectives(measured.collectives),
        _disks(measured.disks),
        _connection(measured.connection),
        Grid("not measured", ["what", "why"], [[missing.what, missing.why] for missing in measured.missing]),
    ]
    return [_without_empty(grid) for grid in found if grid.rows]


def render(measured: Measurements, console: Console) -> None:
    """Print the tables."""
    hang(console, Text(f"measured in {measured.seconds:.0f} s", "bold"), 0)
    for grid in grids(measured):
        console.print()
        table = Table(box=None, pad_edge=False, header_style="bold", title_justify="left", show_header=True)
        for number, name in enumerate(grid.header):
            table.add_column(name, justify="left" if number == 0 or not _numeric(grid, number) else "right")
        for row in grid.rows:
            table.add_row(*(Text(cell, STYLES["error"] if cell.startswith(BAD) else "") for cell in row))
        hang(console, Text(f"  {grid.title}", "dim"), 2)
        console.print(table, soft_wrap=not console.is_terminal)
    console.print()


def markdown(measured: Measurements) -> str:
    """Write the tables as Markdown."""
    parts = []
    for grid in grids(measured):
        lines = [f"**{grid.title}**", "", _row(grid.header), _row(["---"] * len(grid.header))]
        parts.append("\n".join([*lines, *map(_row, grid.rows)]))
    return "\n\n".join(parts)


def _row(cells: list[str]) -> str:
    escaped = (cell.replace("|", "\\|").replace("<", "&lt;").replace("@", "@\u200b") for cell in cells)
    return f"| {' | '.join(escaped)} |"


def _numeric(grid: Grid, column: int) -> bool:
    return any(row[column][:1].isdigit() for row in grid.rows)


def _without_empty(grid: Grid) -> Grid:
    """Leave out the columns in which nothing stands."""
    kept = [n for n in range(len(grid.header)) if n == 0 or any(row[n] for row in grid.rows)]
    return Grid(grid.title, [grid.header[n] for n in kept], [[row[n] for n in kept] for row in grid.rows])


def _figure(value: float | None) -> str:
    """Return a speed with three digits; nothing where it was not measured."""
    if value is None:
        return ""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.3g}"


def _devices(devices: list[DeviceSpeed]) -> Grid:
    names = {device.name for device in devices}
    alike = names.pop() if len(names) == 1 else ""
    header = ["device", "address", "", "to it", "from it", "memory", "product", "type", "results"]
    title = "GB/s to and from the host and within the memory, TFLOPS of matrix products"
    rows = [_device(device, "" if alike else device.name) for device in devices]
    return Grid(f"{alike}: {title}" if alike else title, header, rows)


def _device(device: DeviceSpeed, name: str) -> list[str]:
    results = "" if device.wrong_elements is None else "wrong" if device.wrong_elements else "right"
    return [
        _name(device),
        device.pci_address,
        name,
        _figure(device.host_to_device),
        _figure(device.device_to_host),
        _figure(device.memory),
        _figure(device.matrix_product),
        device.matrix_type,
        results,
    ]


def _name(device: DeviceSpeed) -> str:
    return "processor" if device.ordinal < 0 else f"GPU {device.ordinal}"


def _clocks(devices: list[DeviceSpeed]) -> Grid:
    header = ["device", "SM MHz", "of", "deg C", "W", "held back by"]
    rows = [
        [
            _name(device),
            str(device.sm_clock or ""),
            str(device.sm_clock_max or ""),
            str(device.temperature_celsius or ""),
            _figure(device.power_watts),
            ", ".join(f"{words} {share:.0%}" for words, share in _reasons(device)),
        ]
        for device in devices
        if device.sm_clocks or device.throttled
    ]
    return Grid("while the matrix products ran", header, rows)


def _reasons(device: DeviceSpeed) -> list[tuple[str, float]]:
    return sorted(device.throttled.items(), key=lambda reason: -reason[1])


def _copies(copies: list[PeerCopy]) -> Grid:
    """Return the matrix of sending by receiving GPU."""
    ends = sorted({end for copy in copies for end in (copy.source, copy.target)})
    cells = {(copy.source, copy.target): _copy(copy) for copy in copies}
    rows = [[f"GPU {a}", *("-" if a == b else cells.get((a, b), "") for b in ends)] for a in ends]
    return Grid(
        "copies in GB/s, from the GPU of the row to that of the column",
        ["", *(f"GPU {b}" for b in ends)],
        rows,
    )


def _copy(copy: PeerCopy) -> str:
    if copy.error:
        return "hangs" if "no answer" in copy.error else "failed"
    return "wrong" if copy.wrong_elements else _figure(copy.speed)


def _collectives(collectives: list[Collective]) -> Grid:
    sizes = sorted({payload.size for collective in collectives for payload in collective.payloads})
    header = ["all-reduce", "ranks", "first ms", *(byte_size(size) for size in sizes), "sums", ""]
    return Grid(
        "all-reduce, bus bandwidth in GB/s by size", header, [_collective(c, sizes) for c in collectives]
    )


def _collective(collective: Collective, sizes: list[int]) -> list[str]:
    bus = {payload.size: _figure(payload.bus) for payload in collective.payloads}
    over = f" over {collective.interface}" if collective.interface else ""
    sums = "wrong" if collective.wrong else "right" if collective.checked else ""
    first = "" if collective.first is None else _figure(collective.first * 1000)
    error = f"failed: {collective.error}" if collective.error else ""
    row = [f"{collective.backend}{over}", str(collective.ranks), first]
    return [*row, *(bus.get(size, "") for size in sizes), sums, error]


def _disks(disks: list[Disk]) -> Grid:
    rows = [
        [
            disk.folder,
            disk.file_system,
            byte_size(disk.size),
            _figure(disk.write),
            _figure(disk.read),
            "" if disk.wrong_bytes is None else "wrong" if disk.wrong_bytes else "right",
        ]
        for disk in disks
    ]
    return Grid("disk", ["folder", "file system", "file", "write GB/s", "read GB/s", "data"], rows)


def _packets(sent: Packets | None) -> str:
    if sent is None or sent.passed is None:
        return ""
    return f"{sent.bytes} bytes {'pass' if sent.passed else 'are lost'}"


def _connection(connection: Connection | None) -> Grid:
    header = ["MASTER_ADDR", "port", "outcome", "", "seconds", "packets"]
    if connection is None:
        return Grid("connection", header, [])
    row = [
        connection.host,
        str(connection.port),
        connection.outcome,
        connection.reason,
        _figure(connection.seconds),
        _packets(connection.packets),
    ]
    return Grid("connection to the rendezvous", header, [row])
