"""PCIe access control (ACS) sends copies between GPUs through the processor.

## What happens

Copies between GPUs under one PCIe switch run at a part of their speed, or NCCL hangs in its first collective after "via
P2P". `nvidia-smi topo -m` shows PIX or PXB, and yet the bandwidth is that of PHB or less.

## Why

Access control services (ACS) make a switch or a root port pass every transfer upwards, so that the IOMMU can look at it,
instead of straight to the neighbour. Virtual machines need that; on bare metal it costs the switch its use, and some
root complexes do not pass such transfers on at all. The kernel turns it on together with the IOMMU.

## How to tell

As root: `sudo lspci -vvv | grep -E '^[0-9a-f]|ACSCtl'`; "SrcValid+" or "ReqRedir+" on a bridge above a GPU is it. Without
root only the first 64 bytes of a device's configuration can be read, and nobody can tell.

## See also

- [NCCL: GPU troubleshooting](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/gpu_troubleshooting.html): how to find and turn off ACS
- [nccl 2079](https://github.com/NVIDIA/nccl/issues/2079): all-reduce hung on two GPUs until ACS was turned off on the bridges above them
- [nic-configuration-operator 102](https://github.com/Mellanox/nic-configuration-operator/issues/102): a loop over all devices that have ACS
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Symptom, count, listed
from gpudoctor.facts import Gpus, Pci, over_pcie

check = Check(
    severity=Severity.WARNING,
    words_stand=True,
    symptoms=[
        # what NCCL's documentation greps for, without the devices; a whole listing says which bridges they are
        Symptom(r"\bACSCtl:\s+SrcValid\+ TransBlk", unless=r"\b(?:LnkSta|ACSCap|Kernel driver in use):"),
        r"\bACSCtl:? SrcValid\+ (?:ReqRedir|CmpltRedir|UpstreamFwd)\+",  # shortened by whoever tells of it
        Symptom(
            r"^(?!.*\b(?:if|whether|check|see|make sure)\b).*\bACS (?:is|was) (?:still |also )?(?:enabled|on|active)\b"
        ),
    ],
    message="PCIe access control (ACS) is on for bridges of this machine: copies between GPUs may go through the processor",
    fixes=[
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and this line",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "Turn it off on every bridge above a GPU, after each boot; not where virtual machines are given GPUs",
            "sudo setpci -s BRIDGE ECAP_ACS+6.w=0000",
            Kind.ADMIN,
        ),
        Fix(
            "Or for good: turn VT-d (IO virtualization) off in the firmware, or take one bridge out by a kernel parameter (then "
            "reboot; `iommu=pt` leaves ACS on)",
            "sudo sed -i 's/^GRUB_CMDLINE_LINUX=\"/&pci=disable_acs_redir=BRIDGE /' /etc/default/grub && sudo update-grub",
            Kind.ADMIN,
            source="https://github.com/torvalds/linux/blob/master/Documentation/admin-guide/kernel-parameters.txt",
        ),
        Fix(
            "Keep NCCL from peer copies until then, which is slower",
            "export NCCL_P2P_DISABLE=1",
            Kind.MITIGATION,
        ),
    ],
    no_reproduction="needs several GPUs below a PCIe switch, and root",
)


@check.environment
def environment(pci: Pci, gpus: Gpus | None) -> Iterator[Finding]:
    """A bridge above GPUs that send to each other over PCIe redirects."""
    if len(pci.usable) < 2 or (gpus is not None and not over_pcie(gpus)):
        return
    above = {address for card in pci.usable for address in card.above}
    bridges = [bridge for bridge in pci.bridges if bridge.address in above or not above]
    redirecting = [bridge.address for bridge in bridges if bridge.acs]
    if not redirecting:
        if bridges and all(bridge.acs is None for bridge in bridges):
            raise CannotTell(
                "the bridges' configuration is readable for root alone: sudo gpudoctor check --only acs-enabled"
            )
        return
    message = (
        f"ACS redirects on {count(len(redirecting), 'PCIe bridge')} above the GPUs ({listed(redirecting, 4)}): what they "
        "copy to each other goes through the processor, slowly or never"
    )
    yield check.found(message)
