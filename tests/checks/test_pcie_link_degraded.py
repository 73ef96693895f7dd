"""pcie-link-degraded: lanes, and the generation under load."""

import pytest
from msgspec.structs import replace

from gpudoctor.facts import Gpu, Gpus, Pci, PciDevice
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

EXAMPLES = {
    "The RTX 3090 is slow:\n\t\tLnkSta:\tSpeed 8GT/s, Width x4 (downgraded)\n": (
        "a PCIe link carries 4 of its lanes: what is copied between host and GPU is slow"
    ),
}
NOT_THIS = [
    "The RTX 3090 idles:\n\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x16\n",
    "00:1c.0 PCI bridge: Intel\n\t\tLnkSta:\tSpeed 8GT/s, Width x1 (downgraded)\nNVIDIA RTX 3090\n",
]
CHECK = Registry().check("pcie-link-degraded")


def run(**facts: object) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))  # type: ignore[arg-type]


def bus(width: int | None, most: int | None = 16, above: int | None = 16) -> Pci:
    device = PciDevice(
        address="0000:3b:00.0", device_class="0x0302", driver="nvidia",
        link_width=width, link_width_max=most, upstream_width_max=above,
    )  # fmt: skip
    return Pci(nvidia=[device])


def nvml(width: int | None, most: int | None = 16, **fields: object) -> Gpus:
    gpu = Gpu(index=0, pci_address="0000:3b:00.0", pcie_width=width, pcie_width_max=most, **fields)  # type: ignore[arg-type]
    return Gpus(devices=[gpu])


SLOW = {"pcie_generation": 1, "pcie_generation_max": 5}


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"pci": bus(8)}, "the GPU at 0000:3b:00.0: 8 of 16 PCIe lanes"),
        ({"pci": bus(8), "gpus": nvml(8)}, "GPU 0 (0000:3b:00.0): 8 of 16 PCIe lanes"),
        ({"pci": bus(16), "gpus": nvml(4)}, "4 of 16"),
        ({"pci": bus(None, None, None), "gpus": nvml(1)}, "run at 1/16 of their speed"),
        ({"gpus": nvml(8)}, "8 of 16"),
        ({"pci": bus(4, 16, 8), "gpus": nvml(4, 8)}, "4 of 8"),
        ({"pci": bus(1, 16, None), "gpus": nvml(16)}, "1 of 16"),  # sysfs alone shows it
        ({"pci": replace(bus(4, 16, None), uptime_seconds=90.0)}, "4 of the card's 16 PCIe lanes"),
        (
            {"gpus": nvml(16, utilization_percent=90, throttle_reasons=["gpu_idle"], **SLOW)},
            "generation 1 of 5",
        ),
        ({"gpus": nvml(16, utilization_percent=99, **SLOW)}, "generation 1 of 5 while the GPU is 99 % busy"),
    ],
)
def test_found(facts, says):
    _, [finding] = run(**facts)
    assert finding.severity is Severity.WARNING
    assert says in finding.message


@pytest.mark.parametrize(
    "facts",
    [
        {"pci": bus(16), "gpus": nvml(16)},
        {"pci": bus(8, 16, 8), "gpus": nvml(8, 8)},  # the slot has eight lanes
        {"pci": bus(8, 16, 8), "gpus": nvml(8, 16)},
        {"pci": bus(8, 16, None), "gpus": nvml(8, 8)},  # NVML has the slot's width in its own
        {"gpus": nvml(None, None)},
        {"gpus": nvml(16, utilization_percent=0, **SLOW)},
        {"gpus": nvml(16, **SLOW)},
        {"gpus": nvml(16, utilization_percent=50, throttle_reasons=["gpu_idle"], **SLOW)},
        {"pci": Pci()},
    ],
)
def test_passes(facts):
    result, findings = run(**facts)
    assert result.status is CheckStatus.PASSED, findings


def test_a_slot_of_unknown_width_is_a_note():
    """As in a ticket with lspci of the card alone."""
    _, [finding] = run(pci=bus(4, 16, None))
    assert finding.severity is Severity.NOTE
    assert "4 of the card's 16 PCIe lanes are in use; how many the slot has is not known" in finding.message


def test_a_card_that_was_handed_to_a_guest_is_a_note():
    card = PciDevice(
        address="0000:00:05.0", device_class="0x0302", link_width=8, link_width_max=16, root="pci0000:00"
    )
    _, [finding] = run(pci=Pci(nvidia=[card], uptime_seconds=90.0))
    assert finding.severity is Severity.NOTE


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN
