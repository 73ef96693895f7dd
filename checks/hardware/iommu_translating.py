"""The IOMMU translates what GPUs send to each other over PCIe.

## What happens

Copies between GPUs are slow, hang, or arrive with wrong data (`p2p-corruption`): on several GPUs the loss is NaN or does
not fall, on one GPU it is right. The kernel log may have IO_PAGE_FAULT or DMAR lines.

## Why

With the IOMMU in translating mode every transfer of a PCIe device goes up to the processor to have its address
translated, instead of straight to the other GPU, and on some machines it ends elsewhere. Linux turns it on by itself on
many systems. GPUs that NVLink joins do not send to each other over PCIe, and GeForce cards without peer access not at
all: for them it makes no difference. A virtual machine needs translation on the host.

## How to tell

`cat /sys/bus/pci/devices/*/iommu_group/type | sort | uniq -c`: `identity` passes addresses through, `DMA` and `DMA-FQ`
translate. `sudo dmesg | grep -iE 'IO_PAGE_FAULT|DMAR'` shows transfers that were refused.

## See also

- [NCCL: GPU troubleshooting](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/gpu_troubleshooting.html): GPU to GPU communication, ACS and virtual machines
- [pytorch 84803](https://github.com/pytorch/pytorch/issues/84803): with the IOMMU off, the copies were right
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Evidence, Finding, Fix, Kind, Severity, count, listed
from gpudoctor.facts import Gpus, KernelLog, Pci, over_pcie

TRANSLATING = ("DMA", "DMA-FQ")

check = Check(
    severity=Severity.WARNING,
    otherwise="an error where the kernel log has faults of the IOMMU",
    symptoms=[r"NCCL WARN Missing \W{0,2}iommu=pt\W{0,2} from kernel command line"],  # RCCL
    message="the kernel was started without iommu=pt, as RCCL says: an IOMMU that translates what GPUs send to each other "
    "makes that slow, and on some machines it hangs or arrives wrong",
    fixes=[
        Fix(
            "Prove that the data arrives: this must print tensor(True)",
            "python -c \"import torch; a = torch.arange(9., device='cuda:0'); "
            "print((a.to('cuda:1').cpu() == a.cpu()).all())\"",
        ),
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and what it printed",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "Let the IOMMU pass addresses through (kernel parameter, then reboot), or turn it off in the firmware",
            "sudo sed -i 's/^GRUB_CMDLINE_LINUX=\"/&iommu=pt /' /etc/default/grub && sudo update-grub",
            Kind.ADMIN,
        ),
        Fix(
            "Keep NCCL from peer copies until then, which is slower; torch's own copies between GPUs stay as they are",
            "export NCCL_P2P_DISABLE=1",
            Kind.MITIGATION,
        ),
    ],
    no_reproduction="needs several GPUs behind an IOMMU",
)


@check.environment
def environment(pci: Pci | None, gpus: Gpus | None, log: KernelLog | None) -> Iterator[Finding]:
    """Several GPUs that send to each other over PCIe are in groups that translate, or transfers of them were refused."""
    if pci is None or not any(card.iommu for card in pci.usable):
        refused = _refused(pci, gpus, log)
        if refused:
            yield from refused
            return
    if pci is None:
        raise CannotTell("the PCI bus could not be read")
    cards = [card for card in pci.usable if card.iommu]
    if len(pci.usable) > 1 and not cards and gpus is None:
        raise CannotTell("NVML could not be asked, and no IOMMU group is known")
    translated = [card for card in cards if card.iommu in TRANSLATING]
    if len(translated) < 2 or (gpus is not None and not over_pcie(gpus)):
        return
    ours = {card.address for card in translated}
    faults = [e for e in (log.of("iommu") if log else []) if e.pci_address in ours]
    kinds = " and ".join(sorted({card.iommu for card in translated}))
    message = (
        f"the IOMMU translates (type {kinds}) what {count(len(translated), 'GPU')} send to each other over PCIe: peer "
        "copies are slow, and on some machines wrong"
    )
    if faults:
        message += f"; the kernel log has {count(sum(e.count for e in faults), 'refused transfer')} of them"
    evidence = [
        Evidence(f"iommu_group/type: {card.iommu}", f"/sys/bus/pci/devices/{card.address}")
        for card in translated[:2]
    ]
    evidence += [Evidence(e.text, log.source if log else None) for e in faults[:2]]
    yield check.found(message, severity=Severity.ERROR if faults else None, evidence=evidence)


def _refused(pci: Pci | None, gpus: Gpus | None, log: KernelLog | None) -> list[Finding]:
    """Find transfers of GPUs that the IOMMU refused, where nothing tells of its groups: it translates, or would not."""
    known = {card.address for card in pci.gpus} if pci else set()
    known |= {gpu.pci_address for gpu in gpus.devices} if gpus else set()
    faults = [
        e for e in (log.of("iommu") if log else []) if e.pci_address in known or e.text.startswith("nvidia ")
    ]
    if not faults or (gpus is not None and len(gpus.devices) > 1 and not over_pcie(gpus)):
        return []
    places = listed(list(dict.fromkeys(e.pci_address for e in faults)), 4)
    message = (
        f"the IOMMU translates what GPUs send to each other, and refused {count(sum(e.count for e in faults), 'transfer')} "
        f"of {places}: peer copies hang, or arrive wrong"
    )
    evidence = [Evidence(e.text, log.source if log else None) for e in faults[:2]]
    return [check.found(message, severity=Severity.ERROR, evidence=evidence)]
