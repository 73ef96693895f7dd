"""A GPU's PCIe link has fewer lanes, or is slower, than card and slot can do.

## What happens

Copies between the host and that GPU run at a half or a quarter of the speed of its siblings; so does NCCL where it
goes over PCIe. Every rank waits for the slowest one. Nothing fails.

## Why

At boot both ends of a link agree on the lanes and the speed that work. Fewer than both can do means that some did not:
a card that is not fully seated, a riser or a cable, dust or a bent pin in the slot, a retimer, a failing card.
Sometimes the firmware splits a slot (bifurcation) although it holds one card only.

A slot that has eight lanes for a card of sixteen is no fault, nor is a low speed of an idle GPU: links slow down when
there is nothing to do.

## How to tell

`nvidia-smi --query-gpu=index,pcie.link.width.current,pcie.link.width.max,pcie.link.gen.current,pcie.link.gen.max --format=csv`
while something runs; `sudo lspci -vv -s ADDRESS | grep -E 'LnkCap|LnkSta'` for the GPU and for the bridge above it:
LnkCap is what it can do, LnkSta what it does ("downgraded").

## See also

- [GPU debug guidelines](https://docs.nvidia.com/deploy/gpu-debug-guidelines/index.html): what to collect for the vendor
- [nvidia-smi](https://docs.nvidia.com/deploy/nvidia-smi/index.html): PCIe generation and link width, now and at most
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Gpu, Gpus, Pci, PciDevice

BUSY, FULLY_BUSY = 30, 80
"""Percent of utilization from which a link has no reason to be slow, and from which it is believed to be no remainder."""

SEE = Fix(
    "See the link of each GPU while something runs on it",
    "nvidia-smi --query-gpu=index,pcie.link.width.current,pcie.link.width.max,pcie.link.gen.current,pcie.link.gen.max "
    "--format=csv",
)

check = Check(
    severity=Severity.WARNING,
    otherwise="a note where the slot's lanes are not known, as in a pasted lspci or a virtual machine",
    symptoms=[
        Symptom(  # cut out of lspci -vv, without the device's own line
            r"\bLnkSta:\s{1,8}Speed [\d.]{1,5} ?GT/s(?: \(\w+\))?, Width x(?P<width>[124]) \(downgraded\)",
            near=r"(?i:nvidia|geforce|quadro|tesla|\brtx\b|\bgpu)",
            unless=r"(?m:^[0-9a-f]{2,4}:[0-9a-f]{2}[:.][0-9a-f.]{1,4} \w)",
        ),
    ],
    message="a PCIe link carries <width> of its lanes: what is copied between host and GPU is slow",
    fixes=[
        SEE,
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and these lines",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "Shut down, take the power away, reseat the card, its riser and its cables, and start again",
            "sudo shutdown -h now",
            Kind.ADMIN,
        ),
        Fix(
            "In the firmware's setup: give the slot all its lanes and its speed (bifurcation, link speed)",
            kind=Kind.ADMIN,
        ),
        Fix(
            "Put the card into another slot: a fault that moves with it is the card's, one that stays is the slot's",
            kind=Kind.ADMIN,
        ),
    ],
    no_reproduction="needs a PCIe link that fails",
)


@check.environment
def environment(gpus: Gpus | None, pci: Pci | None) -> Iterator[Finding]:
    """A link has fewer lanes than both its ends, or is slow while the GPU works."""
    if gpus is None and pci is None:
        raise CannotTell("neither NVML nor the PCI bus could be read")
    for device, gpu in _links(gpus, pci):
        place = gpu.place if gpu else f"the GPU at {device.address}" if device else "a GPU"
        width = _width(device, gpu)
        if width is not None:
            has, could = width
            share = "1/" + str(could // has) if could % has == 0 else f"{has}/{could}"
            message = (
                f"{place}: {has} of {could} PCIe lanes are in use, which card and slot both have: "
                f"copies to and from it run at {share} of their speed"
            )
            yield check.found(message)
        elif device is not None and (lanes := _card_alone(device, gpu)):
            message = (
                f"{place}: {lanes[0]} of the card's {lanes[1]} PCIe lanes are in use; how many the slot has is not known "
                "here: if it has more, copies run slower than they could"
            )
            here = pci is not None and pci.uptime_seconds is not None
            yield check.found(message, severity=None if here and _own_tree(device) else Severity.NOTE)
        elif gpu is not None and (generations := _generation(gpu)):
            now, most = generations
            message = (
                f"{place}: its PCIe link runs at generation {now} of {most} while the GPU is {gpu.utilization_percent} % "
                f"busy: copies run at about 1/{2 ** (most - now)} of their speed"
            )
            yield check.found(message)


def _links(gpus: Gpus | None, pci: Pci | None) -> Iterator[tuple[PciDevice | None, Gpu | None]]:
    """Pair what the bus and NVML say of each GPU; of those that NVML does not list only its own driver's count."""
    devices = gpus.devices if gpus else []
    for gpu in devices:
        yield (pci.at(gpu.pci_address) if pci else None), gpu
    known = {gpu.pci_address for gpu in devices}
    if not known:
        for device in pci.usable if pci else []:
            yield device, None


def _width(device: PciDevice | None, gpu: Gpu | None) -> tuple[int, int] | None:
    """Return the lanes that are in use and that both ends have, where those are more; ``None``: not, or not known."""
    ends = [device.link_width_max, device.upstream_width_max] if device else []
    both = min(end for end in ends if end) if ends and all(ends) else None
    pairs = [(device.link_width if device else None, both or (gpu.pcie_width_max if gpu else None))]
    if gpu is not None and gpu.pcie_width_max:
        # NVML's greatest width is that of the device in this system: the slot is in it already.
        pairs.append((gpu.pcie_width, min(gpu.pcie_width_max, both or gpu.pcie_width_max)))
    return next(((now, most) for now, most in pairs if now and most and now < most), None)


def _card_alone(device: PciDevice, gpu: Gpu | None) -> tuple[int, int] | None:
    """Return the lanes in use and the card's own, where those are more and the slot's are not known (``lspci``)."""
    now, most = device.link_width, device.link_width_max
    slot = device.upstream_width_max or (gpu.pcie_width_max if gpu else None)
    return (now, most) if now and most and now < most and slot is None else None


def _own_tree(device: PciDevice) -> bool:
    """Return whether the card's own words are all that there is: it hangs on no host bridge, as those of a guest do.

    A guest sees the card alone, and the slot that the host has for it may have fewer lanes.
    """
    return not (device.root and not device.above)


def _generation(gpu: Gpu) -> tuple[int, int] | None:
    """Return the generation now and at most of a GPU that works; an idle one tells nothing."""
    now, most, busy = gpu.pcie_generation, gpu.pcie_generation_max, gpu.utilization_percent
    if not now or not most or now >= most or busy is None or busy < BUSY:
        return None
    # The percentage is that of the last second: a GPU that was busy then may be idle now.
    idle = "gpu_idle" in (gpu.throttle_reasons or []) and busy < FULLY_BUSY
    return None if idle else (now, most)
