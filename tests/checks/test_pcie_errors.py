"""pcie-errors: counters of the link, of the bridge above it, and the kernel log."""

import pytest

from gpudoctor.facts import AerErrors, Bridge, Gpu, Gpus, KernelEvent, KernelLog, Pci, PciDevice
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("pcie-errors")
EXAMPLES = {
    "pcieport 0000:00:01.0: AER: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Requester ID)": (
        "the kernel log has a PCIe error of 0000:00:01.0 that could not be corrected (Non-Fatal): a transfer was lost"
    ),
    "nvidia 0000:3b:00.0: PCIe Bus Error: severity=Uncorrectable (Fatal), type=Data Link Layer, (Receiver ID)": (
        "the kernel log has a PCIe error of 0000:3b:00.0 that could not be corrected (Fatal): a transfer was lost"
    ),
}
NOT_THIS = [
    "pcieport 0000:00:1c.4: AER: PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)"
]


def run(**facts: object) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))  # type: ignore[arg-type]


def bus(aer: AerErrors | None = None, above: AerErrors | None = None, uptime: float | None = 86_400.0) -> Pci:
    device = PciDevice(
        address="0000:3b:00.0", device_class="0x0302", driver="nvidia", aer=aer, switch="0000:3a:00.0",
        above=["0000:3a:00.0"],
    )  # fmt: skip
    return Pci(nvidia=[device], bridges=[Bridge(address="0000:3a:00.0", aer=above)], uptime_seconds=uptime)


def nvml(*replays: int | None) -> Gpus:
    return Gpus(
        devices=[
            Gpu(index=n, pcie_replays=r, pcie_generation_max=4, pcie_width_max=16)
            for n, r in enumerate(replays)
        ]
    )


def logged(fatal: bool | None, address: str = "0000:3b:00.0") -> KernelLog:
    return KernelLog(
        events=[KernelEvent(kind="aer", text="PCIe Bus Error", pci_address=address, fatal=fatal)]
    )


@pytest.mark.parametrize(
    ("facts", "severity", "says"),
    [
        ({"pci": bus(AerErrors(fatal=1, kinds={"DLP": 1}))}, Severity.ERROR, "1 fatal PCIe error (DLP 1)"),
        ({"pci": bus(AerErrors(nonfatal=3))}, Severity.WARNING, "3 PCIe errors that could not be corrected"),
        ({"pci": bus(AerErrors(nonfatal=1, kinds={"UnsupReq": 1}))}, Severity.NOTE, "harm nothing"),
        (
            {"pci": bus(AerErrors(), AerErrors(fatal=2))},
            Severity.ERROR,
            "the bridge 0000:3a:00.0 above the GPU",
        ),
        ({"pci": bus(), "kernel_log": logged(True)}, Severity.ERROR, "a fatal PCIe error of 0000:3b:00.0"),
        ({"pci": bus(), "kernel_log": logged(False)}, Severity.WARNING, "a non-fatal PCIe error"),
        # 16 lanes of generation 4 may have 16 a minute
        ({"pci": bus(), "gpus": nvml(24_000)}, Severity.WARNING, "24,000 PCIe replays, 17 a minute"),
        (
            {"pci": bus(uptime=None), "gpus": nvml(0, 2000, 3)},
            Severity.WARNING,
            "while the other GPUs have about 3",
        ),
    ],
)
def test_found(facts, severity, says):
    _, [finding] = run(**facts)
    assert finding.severity is severity
    assert says in finding.message


@pytest.mark.parametrize(
    "facts",
    [
        {"pci": bus(AerErrors(correctable=500))},
        {"pci": bus()},
        {"pci": bus(), "gpus": nvml(22_000)},
        {"pci": bus(uptime=None), "gpus": nvml(900_000)},  # over an unknown time, and nothing to compare with
        {"gpus": nvml(40, 0, None, 12)},
        {"pci": bus(), "kernel_log": logged(None)},  # corrected
        {"pci": bus(), "kernel_log": logged(True, "0000:99:00.0")},  # of a network adapter
        {"pci": Pci()},
    ],
)
def test_passes(facts):
    result, findings = run(**facts)
    assert result.status is CheckStatus.PASSED, findings


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN


def test_a_link_that_corrects_without_end():
    card = PciDevice(
        address="0000:3b:00.0",
        device_class="0x0302",
        link_width_max=16,
        link_speed_max="32.0 GT/s PCIe",
        aer=AerErrors(correctable=940_200),
    )
    _, [finding] = run(pci=Pci(nvidia=[card], uptime_seconds=86_400.0))
    assert (
        "940,200 PCIe errors that were corrected, 653 a minute since boot, where 31 are usual"
        in finding.message
    )
    assert run(pci=Pci(nvidia=[card]))[1] == []  # over an unknown time
