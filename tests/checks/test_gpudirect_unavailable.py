"""gpudirect-unavailable: neither DMA-BUF nor nvidia_peermem."""

from typing import Any

from gpudoctor.facts import Driver, Gpu, Gpus, IbDevice, IbPort, Infiniband, Pci, PciDevice
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

EXAMPLES = {
    "NET/IB : GPU Direct RDMA Disabled for HCA 2 'mlx5_2'": (
        "NCCL finds no GPUDirect RDMA for mlx5_2: traffic between nodes goes through the host's memory"
    ),
}
NOT_THIS = ["node1:7:9 [0] NCCL INFO NET/IB : GPU Direct RDMA Enabled for HCA 2 'mlx5_2'"]
CHECK = Registry().check("gpudirect-unavailable")
EIGHT = Pci(nvidia=[PciDevice(address=f"0000:{n:02x}:00.0", device_class="0x0302") for n in range(8)])
CLOSED = Driver(version="550.54.15", description="NVIDIA UNIX x86_64 Kernel Module  550.54.15  Release Build")
OPEN = Driver(
    version="580.82.07", description="NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build"
)


def device(number: int, **fields: Any) -> IbDevice:
    port = {
        "state": "ACTIVE",
        "phys_state": "LinkUp",
        "rate_gbps": 400,
        "lanes": 4,
        "speed": "NDR",
        "link_layer": "InfiniBand",
    }
    about = {name: fields.pop(name) for name in ("driver", "board", "virtual_function") if name in fields}
    return IbDevice(
        name=f"mlx5_{number}",
        pci_address=f"0000:{number + 16:02x}:00.0",
        ports=[IbPort(**{**port, **fields})],
        **{"driver": "mlx5_core", **about},
    )


def run(**facts: Any) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def board(peermem: bool | None = False, **port: Any) -> Infiniband:
    return Infiniband(devices=[device(n, **port) for n in range(8)], peermem=peermem)


def test_the_closed_module_alone() -> None:
    result, [finding] = run(infiniband=board(), driver=CLOSED, pci=EIGHT)
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.WARNING
    assert "nvidia_peermem is not loaded: mlx5_0, mlx5_1" in finding.message


def test_two_gpus_are_a_note() -> None:
    _, [finding] = run(infiniband=board(), driver=CLOSED, pci=Pci(nvidia=EIGHT.nvidia[:2]))
    assert finding.severity is Severity.NOTE


def test_passes() -> None:
    assert run(infiniband=board(), driver=OPEN, pci=EIGHT)[1] == []
    assert run(infiniband=board(peermem=True), driver=CLOSED, pci=EIGHT)[1] == []
    efa = board(driver="efa", link_layer="Unspecified")
    assert run(infiniband=efa, driver=CLOSED, pci=EIGHT)[1] == []
    ethernet = Infiniband(devices=[device(0, link_layer="Ethernet")], peermem=False)
    assert run(infiniband=ethernet, driver=CLOSED, pci=EIGHT)[1] == []
    games = Gpus(devices=[Gpu(index=n, name="NVIDIA GeForce RTX 4090") for n in range(8)])
    assert run(infiniband=board(), driver=CLOSED, pci=EIGHT, gpus=games)[1] == []
    assert run(infiniband=Infiniband(), driver=CLOSED, pci=EIGHT)[1] == []


def test_unknown() -> None:
    assert run(infiniband=board(peermem=None), driver=CLOSED, pci=EIGHT)[0].status is CheckStatus.UNKNOWN
    assert run()[0].status is CheckStatus.UNKNOWN
