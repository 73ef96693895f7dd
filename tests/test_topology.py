"""The picture of how GPUs are connected, and who is shown it."""

import io

import pytest
from rich.console import Console

from gpudoctor.diagnose import diagnose
from gpudoctor.facts import Gpu, GpuPair, Gpus, Pci, PciDevice, Raised, Torch
from gpudoctor.registry import Registry
from gpudoctor.render.layers import layers
from gpudoctor.render.markdown import ticket
from gpudoctor.render.terminal import render
from gpudoctor.render.topology import topology
from gpudoctor.report import Report
from gpudoctor.snapshot import Snapshot
from tests.scenarios.fault import bus, gpu
from tests.scenarios.healthy import HEALTHY
from tests.scenarios.machine import snapshot

TWO_4090 = """\
      GPU0     GPU1     CPUs  PCIe
GPU0  X        PHB/CNS  0-31  4.0 x16
GPU1  PHB/CNS  X        0-31  4.0 x16

PHB: one PCIe host bridge of the processor; /CNS: no peer access, chipset not supported"""


def printed(report: Report, verbose: bool = False) -> str:
    out = io.StringIO()
    render(report, Console(file=out, width=200), verbose=verbose)
    return out.getvalue()


def test_two_cards_without_peer_access() -> None:
    assert topology(snapshot(HEALTHY["workstation-2x4090"])) == TWO_4090


def test_a_board_with_network_adapters() -> None:
    picture = topology(snapshot(HEALTHY["board-8xh100"])) or ""
    rows = picture.splitlines()
    assert rows[0].split() == [
        "GPU0",
        "GPU1",
        "GPU2",
        "GPU3",
        "GPU4",
        "GPU5",
        "GPU6",
        "GPU7",
        "NUMA",
        "CPUs",
        "PCIe",
        "NICs",
    ]
    assert rows[5].split()[1:9] == ["NV18"] * 4 + ["X"] + ["NV18"] * 3
    assert rows[5].endswith("1     32-63,96-127  5.0 x16  mlx5_4, mlx5_5 (PIX)")
    assert rows[-1] == "NVn: that many NVLinks; PIX: at most one PCIe bridge"


def test_the_bus_tells_where_nvml_does_not() -> None:
    gpus = Gpus(devices=[Gpu(index=n, pci_address=f"0000:0{n}:00.0", pcie_width=8, pcie_width_max=16,
                             pcie_generation_max=4) for n in range(2)])  # fmt: skip
    cards = [PciDevice(address=f"0000:0{n}:00.0", root=f"pci0000:{n}0", numa_node=n) for n in range(2)]
    picture = topology(Snapshot({"gpus": gpus, "pci": Pci(nvidia=cards)})) or ""
    assert "GPU0  X     SYS   0     4.0 x8 of x16" in picture
    assert "SYS: the link between NUMA nodes" in picture


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"gpus": Gpus(devices=[Gpu(index=0)])},
        {"gpus": Gpus(devices=[Gpu(index=0), Gpu(index=1)])},
        {
            "gpus": Gpus(devices=[Gpu(index=0), Gpu(index=1)], pairs=[GpuPair(first=0, second=1)]),
            "pci": Pci(),
        },
    ],
)
def test_nothing_known_is_no_picture(facts: dict[str, object]) -> None:
    assert topology(Snapshot(facts)) is None  # type: ignore[arg-type]


def test_it_is_shown_where_something_of_it_was_found_and_on_request(registry: Registry) -> None:
    well = diagnose(snapshot(HEALTHY["server-8xl40s"]), registry.checks())
    assert "topology" not in printed(well).split()
    assert "GPU7  SYS" in printed(well, verbose=True)
    degraded = bus(0, link_width=4)(gpu(0, pcie_width=4)(snapshot(HEALTHY["server-8xl40s"])))
    text = printed(diagnose(degraded, registry.checks()))
    assert "pcie-link-degraded" in text
    assert "4.0 x4 of x16" in text


def test_a_ticket_has_it(registry: Registry) -> None:
    report = diagnose(snapshot(HEALTHY["workstation-2x4090"]), registry.checks())
    assert f"### Topology\n\n```\n{TWO_4090}\n```" in ticket(report)


def test_gpus_of_other_makers_are_named() -> None:
    bus = Pci(amd=[PciDevice(address="0000:41:00.0"), PciDevice(address="0000:51:00.0")])
    [(name, state, text)] = [row for row in layers(Snapshot({"pci": bus}), []) if row[0] == "hardware"]
    assert (name, state) == ("hardware", "unknown")
    assert text == "2 AMD GPUs, not examined"


def test_links_that_differ_are_not_told_as_alike() -> None:
    fewer = gpu(2, nvlinks_active=17)(snapshot(HEALTHY["board-8xh100"]))
    told = {name: text for name, _, text in layers(fewer, [])}
    assert "17 to 18 NVLinks" in told["hardware"]


def test_a_torch_that_does_not_import_is_not_called_a_cpu_build():
    broken = Torch(
        imported=False, version="2.6.0+cu124", error=Raised(type="ImportError", message="libcusparse.so.12")
    )
    [(_, _, text)] = [row for row in layers(Snapshot({"torch": broken}), []) if row[0] == "build"]
    assert text == "torch 2.6.0+cu124 (not imported)"
