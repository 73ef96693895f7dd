"""acs-enabled: bridges that redirect, where GPUs send over PCIe."""

import pytest

from gpudoctor.facts import Bridge, Gpu, GpuPair, Gpus, Pci, PciDevice
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

EXAMPLES = {
    "Both root ports print ACSCtl: SrcValid+ ReqRedir+ CmpltRedir+ here.": (
        "PCIe access control (ACS) is on for bridges of this machine: copies between GPUs may go through the processor"
    ),
    "On this host ACS is still enabled, says the vendor.": (
        "PCIe access control (ACS) is on for bridges of this machine: copies between GPUs may go through the processor"
    ),
    "                ACSCtl: SrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-": (
        "PCIe access control (ACS) is on for bridges of this machine: copies between GPUs may go through the processor"
    ),
}
NOT_THIS = [
    "Check whether ACS is enabled on the bridges.",
    "                ACSCtl: SrcValid- TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl- DirectTrans-",
    "ACSCap: SrcValid+ TransBlk+ ReqRedir+\nACSCtl: SrcValid+ TransBlk- ReqRedir-",
    "verified that there is no SrcValid+ in lspci's output",
]
CHECK = Registry().check("acs-enabled")


def run(**facts: object) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))  # type: ignore[arg-type]


def nvml(name: str = "NVIDIA RTX A6000", path: str = "PHB", p2p: str = "OK", **fields: object) -> Gpus:
    return Gpus(
        devices=[Gpu(index=n, name=name, **fields) for n in range(2)],  # type: ignore[arg-type]
        pairs=[GpuPair(first=0, second=1, path=path, p2p=p2p)],
    )


def bus(*acs: bool | None) -> Pci:
    return Pci(
        nvidia=[
            PciDevice(
                address=f"0000:{n:02x}:00.0", device_class="0x0302", driver="nvidia", above=["0000:80:00.0"]
            )
            for n in range(2)
        ],
        bridges=[Bridge(address=f"0000:8{n}:00.0", acs=on) for n, on in enumerate(acs)],
    )


def test_found():
    _, [finding] = run(pci=bus(True), gpus=nvml())
    assert finding.severity is Severity.WARNING
    assert "ACS redirects on 1 PCIe bridge above the GPUs (0000:80:00.0)" in finding.message


@pytest.mark.parametrize(
    "facts",
    [
        {"pci": bus(False), "gpus": nvml()},
        {"pci": bus(False, True), "gpus": nvml()},  # that bridge is above no GPU
        {"pci": bus(True), "gpus": nvml(path="NV12")},
        {"pci": bus(True), "gpus": nvml("NVIDIA GeForce RTX 3090", p2p="CNS")},
        {"pci": Pci(), "gpus": nvml()},
        {"pci": bus(), "gpus": nvml()},
    ],
)
def test_passes(facts):
    assert run(**facts)[0].status is CheckStatus.PASSED


def test_without_root_nobody_can_tell():
    result, _ = run(pci=bus(None), gpus=nvml())
    assert result.status is CheckStatus.UNKNOWN
    assert "sudo gpudoctor check --only acs-enabled" in (result.reason or "")


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN
