"""iommu-translating: IOMMU groups that translate, where GPUs send over PCIe."""

import pytest

from gpudoctor.facts import Gpu, GpuPair, Gpus, KernelEvent, KernelLog, Pci, PciDevice
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("iommu-translating")
EXAMPLES = {
    'node1:402:402 [0] NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!': (
        "the kernel was started without iommu=pt, as RCCL says: an IOMMU that translates what GPUs send to each other makes "
        "that slow, and on some machines it hangs or arrives wrong"
    ),
}
NOT_THIS = ["BOOT_IMAGE=/boot/vmlinuz root=UUID=1 ro iommu=pt"]


def run(**facts: object) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))  # type: ignore[arg-type]


def nvml(name: str = "NVIDIA RTX A6000", path: str = "PHB", p2p: str = "OK", **fields: object) -> Gpus:
    return Gpus(
        devices=[Gpu(index=n, name=name, **fields) for n in range(2)],  # type: ignore[arg-type]
        pairs=[GpuPair(first=0, second=1, path=path, p2p=p2p)],
    )


def bus(kind: str, number: int = 2) -> Pci:
    return Pci(
        nvidia=[
            PciDevice(address=f"0000:{n:02x}:00.0", device_class="0x0302", driver="nvidia", iommu=kind)
            for n in range(number)
        ]
    )


FAULT = KernelEvent(
    kind="iommu", text="nvidia 0000:00:00.0: AMD-Vi: IO_PAGE_FAULT", pci_address="0000:00:00.0", count=4
)


@pytest.mark.parametrize("kind", ["DMA", "DMA-FQ"])
def test_found(kind):
    _, [finding] = run(pci=bus(kind), gpus=nvml())
    assert finding.severity is Severity.WARNING
    assert f"translates (type {kind}) what 2 GPUs send" in finding.message


def test_transfers_that_were_refused_make_it_an_error():
    _, [finding] = run(pci=bus("DMA"), gpus=nvml(), kernel_log=KernelLog(events=[FAULT]))
    assert finding.severity is Severity.ERROR
    assert "4 refused transfers" in finding.message


@pytest.mark.parametrize(
    "facts",
    [
        {"pci": bus("identity"), "gpus": nvml()},
        {"pci": bus("DMA", 1), "gpus": nvml()},
        {"pci": bus("DMA"), "gpus": nvml(path="NV4")},
        {"pci": bus("DMA"), "gpus": nvml("NVIDIA GeForce RTX 4090", p2p="CNS")},
        {"pci": bus("DMA"), "gpus": nvml("NVIDIA GeForce RTX 4090", p2p="")},
        {"pci": bus("DMA"), "gpus": nvml(path="", p2p="", nvlinks_active=12)},
        {"pci": bus("DMA"), "gpus": nvml(mig=True)},
        {"pci": bus(""), "gpus": nvml()},
    ],
)
def test_passes(facts):
    result, findings = run(**facts)
    assert result.status is CheckStatus.PASSED, findings


@pytest.mark.parametrize("facts", [{}, {"pci": bus("")}])
def test_unknown(facts):
    assert run(**facts)[0].status is CheckStatus.UNKNOWN


@pytest.mark.parametrize(
    "line", [FAULT.text, "AMD-Vi: Event logged [IO_PAGE_FAULT device=00:00.0 domain=0x12]"]
)
def test_refused_transfers_alone_show_that_it_translates(line):
    log = KernelLog(events=[KernelEvent(kind="iommu", text=line, pci_address="0000:00:00.0", count=3)])
    gpus = Gpus(devices=[Gpu(index=0, pci_address="0000:00:00.0")])
    _, [finding] = run(gpus=gpus, kernel_log=log)
    assert finding.severity is Severity.ERROR
    assert "refused 3 transfers of 0000:00:00.0" in finding.message
    other = KernelLog(events=[KernelEvent(kind="iommu", text="AMD-Vi", pci_address="0000:05:00.0")])
    assert run(pci=bus(""), gpus=gpus, kernel_log=other)[1] == []
