"""How measurements are shown: the same tables on a terminal and in Markdown."""

import io

from rich.console import Console

from gpudoctor.facts import (
    Collective,
    Connection,
    DeviceSpeed,
    Disk,
    Measurements,
    Missing,
    Packets,
    Payload,
    PeerCopy,
)
from gpudoctor.render.markdown import ticket
from gpudoctor.render.measurements import markdown, render
from gpudoctor.report import Report
from tests.scenarios.healthy import HEALTHY
from tests.scenarios.machine import snapshot

MEASURED = Measurements(
    devices=[
        DeviceSpeed(
            ordinal=0,
            name="NVIDIA H100 80GB HBM3",
            pci_address="0000:0a:00.0",
            host_to_device=54.321,
            memory=2900.4,
            matrix_product=640.2,
            matrix_type="bfloat16",
            wrong_elements=0,
            sm_clocks=[1700, 1710, 1720],
            sm_clock_max=1980,
            throttled={"sw_power_cap": 0.905},
        ),
        DeviceSpeed(ordinal=1, name="NVIDIA H100 80GB HBM3", wrong_elements=3),
    ],
    copies=[
        PeerCopy(source=0, target=1, speed=376.4, wrong_elements=0),
        PeerCopy(source=1, target=0, wrong_elements=5),
        PeerCopy(source=0, target=2, error="no answer in 10 s"),
        PeerCopy(source=2, target=0, error="out of memory"),
    ],
    collectives=[
        Collective(
            backend="nccl",
            ranks=2,
            first=1.9,
            payloads=[
                Payload(size=1 << 20, seconds=0.001, bus=40.04),
                Payload(size=1 << 30, seconds=1, bus=464.2),
            ],
            checked=["float32"],
        ),
        Collective(backend="gloo", ranks=2, interface="eth0", error="rank 1: refused"),
    ],
    disks=[Disk(folder="/data", file_system="nfs4", size=256 << 20, write=0.3, read=1.25, wrong_bytes=0)],
    connection=Connection(
        host="node1",
        port=29500,
        outcome="refused",
        reason="Connection refused",
        seconds=0.01,
        packets=Packets(bytes=9000, passed=False),
    ),
    missing=[Missing(what="NCCL", why="this torch has <none> | nothing")],
    seconds=61.2,
)


def on_a_terminal() -> list[str]:
    text = io.StringIO()
    render(MEASURED, Console(file=text, width=200, color_system=None))
    return [" ".join(line.split()) for line in text.getvalue().splitlines()]


def test_a_terminal_shows_each_table() -> None:
    lines = on_a_terminal()
    assert lines[0] == "measured in 61 s"
    assert any(line.startswith("NVIDIA H100 80GB HBM3: GB/s to and from the host") for line in lines)
    assert "GPU 0 0000:0a:00.0 54.3 2900 640 bfloat16 right" in lines
    assert "GPU 1 wrong" in lines
    assert "GPU 0 1710 1980 sw_power_cap 90%" in lines
    assert "GPU 0 - 376 hangs" in lines
    assert "GPU 1 wrong -" in lines
    assert "GPU 2 failed -" in lines
    assert "nccl 2 1900 40.0 464 right" in lines
    assert "gloo over eth0 2 failed: rank 1: refused" in lines
    assert "/data nfs4 256 MiB 0.3 1.25 right" in lines
    assert "node1 29500 refused Connection refused 0.01 9000 bytes are lost" in lines


def test_markdown_has_the_matrix_and_nothing_that_breaks_it() -> None:
    lines = markdown(MEASURED).splitlines()
    assert "|  | GPU 0 | GPU 1 | GPU 2 |" in lines
    assert "| GPU 0 | - | 376 | hangs |" in lines
    assert "| NCCL | this torch has &lt;none> \\| nothing |" in lines


def test_columns_in_which_nothing_stands_are_left_out() -> None:
    assert "| device | address | to it | memory | product | type | results |" in markdown(MEASURED)


def test_gpus_that_differ_are_named_in_their_rows() -> None:
    devices = [
        DeviceSpeed(ordinal=0, name="NVIDIA L4", memory=250),
        DeviceSpeed(ordinal=1, name="Tesla T4", memory=240),
    ]
    assert "| GPU 1 | Tesla T4 | 240 |" in markdown(Measurements(devices=devices))


def test_the_tables_of_eight_gpus_fit_into_100_columns() -> None:
    board = snapshot(HEALTHY["board-8xh100"]).get(Measurements)
    assert board is not None
    text = io.StringIO()
    render(board, Console(file=text, width=100, force_terminal=True, color_system=None))
    assert "GPU 7" in text.getvalue()
    assert "\u2026" not in text.getvalue()


def test_a_ticket_holds_the_tables() -> None:
    text = ticket(Report(facts={"measurements": MEASURED}))
    assert "### Measurements" in text
    assert "| GPU 1 | wrong | - |" in text
