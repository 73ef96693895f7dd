"""infiniband-slow-port: a port that all collectives wait for."""

from typing import Any

from gpudoctor.facts import IbDevice, IbPort, Infiniband, Pci, PciDevice
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("infiniband-slow-port")
EIGHT = Pci(nvidia=[PciDevice(address=f"0000:{n:02x}:00.0", device_class="0x0302") for n in range(8)])


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


def board(**fields: Any) -> Infiniband:
    return Infiniband(devices=[device(n, **(fields if n == 3 else {})) for n in range(8)])


def test_one_is_slower() -> None:
    result, [finding] = run(infiniband=board(rate_gbps=200, speed="HDR"), pci=EIGHT)
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("mlx5_3 runs at 200 Gb/s (4X HDR), and 7 of its kind at 400")


def test_one_lane_came_up() -> None:
    _, [finding] = run(infiniband=Infiniband(devices=[device(0, rate_gbps=100, lanes=1)]))
    assert "one lane of four came up" in finding.message


def test_passes() -> None:
    split = [device(n, rate_gbps=200, lanes=2) for n in range(8)]
    ethernet = [device(0, rate_gbps=25, lanes=1, speed="EDR", link_layer="Ethernet")]
    storage = [*board().devices, device(9, rate_gbps=200, board="storage")]
    mixed = [*board().devices, device(9, rate_gbps=200)]
    for devices in (split, ethernet, storage, mixed, board().devices, []):
        assert run(infiniband=Infiniband(devices=devices), pci=EIGHT)[0].status is CheckStatus.PASSED


def test_unknown() -> None:
    assert run()[0].reason == "infiniband: not in this report"
