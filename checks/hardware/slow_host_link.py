"""Copies between the host and a GPU are much slower than its link.

## What happens

Nothing fails. Batches arrive late, the GPU waits with low utilization, checkpoints and offloaded optimizers take long.
Where GPUs have no NVLink, collectives go over the same link and are slow, too.

## Why

- The link was trained with fewer lanes or a lower generation than card and slot have: a riser, dirt, or a slot that
  shares its lanes.
- An IOMMU translates every access.
- The copies come from the other processor's memory.
- The firmware limits the size of requests.

In a virtual machine, the host may be the one with such a setting.

## How to tell

`gpudoctor check --deep` copies 256 MiB of pinned memory each way, from the processors nearest to the GPU, one GPU after
the other. A healthy link gives 75 to 90 % of what its lanes carry: 12 to 13 GB/s over 16 lanes of generation 3, 23 to 26
over generation 4, 48 to 55 over generation 5. Less than 35 % of the link, or than half of what its siblings reach, is a
finding: a switch above the GPU may have a link of the generation before to the processor, which is half as fast.
`nvidia-smi -q -i GPU` shows what the link is while a copy runs (GPU Link Info): an idle one falls back to generation 1.

## See also

- [Azure's node health checks](https://github.com/Azure/azurehpc-health-checks): by machine and release they pass 9 to 10 GB/s for V100, 21 to 24 for A100, 48 to 52 for H100
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import DeviceSpeed, Gpu, Gpus, Host, Measurements, gpu_model, pcie_speed, siblings_median

LEAST = 0.35
"""Of the link. Azure asks for 57 % (V100), 67 % (A100) and 76 % (H100), but where a switch stands between, its own link to
the processor may be of the generation before: A100 behind processors with PCIe 3 get 12 of 31.5 GB/s, and are healthy."""
SIBLINGS = 0.5
"""Of what the other GPUs of the model reach: the far processor's memory costs less than that."""


def fixes(gpu: str) -> list[Fix]:
    """Return the fixes for a GPU, by its PCI address or its number."""
    return [
        Fix("See lanes and generation (GPU Link Info) while a copy runs", f"nvidia-smi -q -i {gpu}"),
        Fix("Bind each rank to the processors next to its GPU; this lists them", "nvidia-smi topo -m"),
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and that output",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "See what link and slot were made for (LnkCap), and what they agreed on (LnkSta)",
            "sudo lspci -d 10de: -vv",
            Kind.ADMIN,
        ),
        Fix(
            "Let the IOMMU pass addresses through (kernel parameter, then reboot)",
            "sudo sed -i 's/^GRUB_CMDLINE_LINUX=\"/&iommu=pt /' /etc/default/grub && sudo update-grub",
            Kind.ADMIN,
        ),
        Fix("Seat the card and its riser again, or try another slot", kind=Kind.ADMIN),
    ]


check = Check(
    severity=Severity.WARNING,
    follows=["pcie-link-degraded", "iommu-translating"],
    fixes=fixes("GPU"),
    no_reproduction="needs a GPU behind a slow link",
)


@check.environment
def environment(measurements: Measurements, gpus: Gpus | None, host: Host | None) -> Iterator[Finding]:
    """Pinned copies are far below what the link carries, or what the other GPUs reach."""
    measured = [device for device in measurements.gpus if device.host_to_device and device.device_to_host]
    if not measured:
        raise CannotTell(measurements.why("GPU") or "no copies between host and GPU were measured")
    if gpus is not None and gpus.confidential:
        raise CannotTell("with confidential computing every copy is encrypted on its way: no figure is known")
    slow, judged = [], 0
    for device in measured:
        known = _nvml(device, gpus)
        words, compared = _shortfall(device, measured, known, judge_link=host is None or not host.wsl)
        judged += compared
        slow += [(device, words)] if words else []
    if slow:
        device, words = slow[0]
        others = len(slow) - 1
        more = "" if others == 0 else "; so does another one" if others == 1 else f"; so do {others} others"
        message = f"{device.place} {words}{more}: batches, offloading and collectives over PCIe wait for it"
        evidence = [f"{other.place} {one}" for other, one in slow] if len(slow) > 1 else []
        yield check.found(message, evidence=evidence, fixes=fixes(device.pci_address or str(device.ordinal)))
    elif why := measurements.why("GPU"):
        raise CannotTell(why)
    elif not judged:
        raise CannotTell("what the link can carry is not known, and there are no siblings to compare with")


def _nvml(device: DeviceSpeed, gpus: Gpus | None) -> Gpu | None:
    known = gpus.devices if gpus else []
    return next((gpu for gpu in known if gpu.pci_address and gpu.pci_address == device.pci_address), None)


def _link(device: DeviceSpeed, known: Gpu | None) -> float | None:
    """Return what the link should carry: that of the model's own boards, else the one that there is."""
    model = gpu_model(device.name)
    most = known.pcie_generation_max if known else None
    if model is not None and model.pcie is not None:
        return pcie_speed(min(model.pcie, most or model.pcie), 16)
    return pcie_speed(most, known.pcie_width if known else None)


def _shortfall(
    device: DeviceSpeed, measured: list[DeviceSpeed], known: Gpu | None, *, judge_link: bool
) -> tuple[str, bool]:
    """Return what is too slow, in words, and whether there was anything to compare with."""
    link = _link(device, known) if judge_link else None
    others = [other for other in measured if other is not device and other.name == device.name]
    compared = False
    for field, way in (("host_to_device", "receives"), ("device_to_host", "sends")):
        value: float = getattr(device, field)
        if link is not None and value < LEAST * link:
            words = f"{way} {value:.1f} GB/s, {100 * value / link:.0f} % of the {link:.0f} that its PCIe link should carry"
            return words, True
        usual = siblings_median([getattr(other, field) for other in others])
        if usual is not None and value < SIBLINGS * usual:
            return (
                f"{way} {value:.1f} GB/s, {100 * value / usual:.0f} % of the {usual:.1f} of its siblings",
                True,
            )
        compared = compared or link is not None or usual is not None
    return "", compared
