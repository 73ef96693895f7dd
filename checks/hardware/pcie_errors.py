"""The PCIe link of a GPU counts errors.

## What happens

Single transfers are lost or repeated. At first only the copies are slow; later a job hangs, CUDA says "unspecified
launch failure" or "unknown error", or the GPU falls off the bus. The kernel log has "PCIe Bus Error: severity=…".

## Why

PCI Express notices damaged packets and sends them again (a replay): correctable errors, harmless while they are few.
What could not be corrected is counted as non-fatal or fatal; after a fatal one the link was set up again, and what was
on it is gone. Reasons are the same as for a link with too few lanes: a bad contact, a riser, a cable, a retimer, the
power supply, a failing card. "Unsupported Request" alone mostly comes from a driver that asked a device for something it
does not have, at boot.

## How to tell

`grep . /sys/bus/pci/devices/ADDRESS/aer_dev_*` shows each kind, since boot, for the GPU and for the bridge above it,
which may be the one that counts. `nvidia-smi -q | grep -iE 'replays'` shows the replays.

## See also

- [PCI Express error reporting](https://docs.kernel.org/PCI/pcieaer-howto.html): correctable, non-fatal and fatal errors, what the kernel prints, and its counters
- [Xid catalogue](https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html): what the driver says when the link fails
"""

import math
from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Evidence, Finding, Fix, Kind, Severity, count
from gpudoctor.facts import AerErrors, Gpu, Gpus, KernelLog, Pci, PciDevice

# DCGM's health watch (DcgmHealthWatch.cpp): replays per lane and minute that a link of each generation may have.
REPLAYS = {1: 0.15, 2: 0.3, 3: 0.48, 4: 0.96, 5: 1.92, 6: 3.84}
SPEEDS = {"2.5": 1, "5.0": 2, "8.0": 3, "16.0": 4, "32.0": 5, "64.0": 6}
"""Generations by GT/s, as the kernel writes them (``max_link_speed``)."""
OUTLIER_LEAST, OUTLIER_TIMES = 1000, 100
"""Replays from which a GPU is compared with its siblings, and how many times as many make it the odd one."""
HARMLESS = {"UnsupReq", "Unsupported Request", "ACSViol", "ACS Violation"}

check = Check(
    severity=Severity.WARNING,
    otherwise="an error where one was fatal, a note for requests that a device does not support",
    symptoms=[
        r"(?P<address>[0-9a-f:.]{7,13}): (?:AER: )?PCIe Bus Error: severity=Uncorrect(?:ed|able) \((?P<kind>Fatal|Non-Fatal)\)",
    ],
    message="the kernel log has a PCIe error of <address> that could not be corrected (<kind>): a transfer was lost",
    follows=["gpu-fell-off-bus"],
    fixes=[
        Fix(
            "See every kind of error, of the GPU and of the bridge above it",
            "grep . /sys/bus/pci/devices/*/aer_dev_*",
        ),
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and these counts",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "Shut down, take the power away, reseat the card, its riser and its cables, and start again",
            "sudo shutdown -h now",
            Kind.ADMIN,
        ),
        Fix(
            "Test the card and its link, and have it exchanged if it fails",
            "sudo dcgmi diag -r 3 -i GPU",
            Kind.ADMIN,
        ),
    ],
    no_reproduction="needs a PCIe link that fails",
)


@check.environment
def environment(pci: Pci | None, gpus: Gpus | None, log: KernelLog | None) -> Iterator[Finding]:
    """A link counted errors that were not corrected, or repeats far more than links do."""
    if pci is None and gpus is None and log is None:
        raise CannotTell("neither the PCI bus nor NVML could be read")
    for device in pci.usable if pci else []:
        places = [(f"the GPU at {device.address}", device.aer)]
        above = pci.bridge(device.switch) if pci else None
        if above is not None and above.aer is not None and above.aer.fatal:
            places.append((f"the bridge {above.address} above the GPU at {device.address}", above.aer))
        for place, errors in places:
            if errors is not None:
                yield from _counted(place, errors)
        yield from _corrected(device, pci)
    yield from _logged(pci, log)
    if gpus is not None:
        yield from _replays(gpus, pci)


def _counted(place: str, errors: AerErrors) -> Iterator[Finding]:
    kinds = ", ".join(f"{name} {number}" for name, number in errors.kinds.items())
    named = f" ({kinds})" if kinds else ""
    if errors.fatal:
        message = (
            f"{place} counts {count(errors.fatal, 'fatal PCIe error')}{named} since boot: its link went down"
        )
        yield check.found(message, severity=Severity.ERROR)
    elif errors.nonfatal:
        message = (
            f"{place} counts {count(errors.nonfatal, 'PCIe error')} that could not be corrected{named} since boot: "
            "a transfer was lost"
        )
        harmless = bool(errors.kinds) and errors.kinds.keys() <= HARMLESS
        if harmless:
            message += "; requests that a device does not support come at boot, too, and harm nothing"
        yield check.found(message, severity=Severity.NOTE if harmless else None)


def _corrected(device: PciDevice, pci: Pci | None) -> Iterator[Finding]:
    """Find a GPU whose link corrects more errors than links may repeat packets: each is a packet sent again."""
    minutes = pci.uptime_seconds / 60 if pci and pci.uptime_seconds else None
    generation = SPEEDS.get(device.link_speed_max.partition(" ")[0])
    rate = REPLAYS.get(generation or 0)
    if device.aer is None or not minutes or not rate or not device.link_width_max:
        return
    allowed = math.ceil(rate * device.link_width_max)
    a_minute = device.aer.correctable / max(minutes, 1)
    if a_minute > allowed:
        message = (
            f"the GPU at {device.address} counts {device.aer.correctable:,} PCIe errors that were corrected, "
            f"{a_minute:,.0f} a minute since boot, where {allowed} are usual at most: its link repeats what arrives damaged"
        )
        yield check.found(message)


def _logged(pci: Pci | None, log: KernelLog | None) -> Iterator[Finding]:
    """Report what the kernel log says of a GPU whose counters say nothing."""
    counted = {d.address for d in pci.usable if d.aer and (d.aer.fatal or d.aer.nonfatal)} if pci else set()
    ours = {d.address for d in pci.usable} if pci else set()
    ours |= {address for d in pci.usable for address in d.above[:1]} if pci else set()
    for event in log.of("aer") if log else []:
        # Where the bus was not looked at, the line itself names the driver of the device.
        known = event.pci_address in ours or (pci is None and "nvidia 0" in event.text)
        if event.fatal is None or event.pci_address in counted or not known:
            continue
        kind = "fatal" if event.fatal else "non-fatal"
        message = f"the kernel log has a {kind} PCIe error of {event.pci_address}: a transfer was lost"
        severity = Severity.ERROR if event.fatal else None
        source = log.source if log else None
        yield check.found(message, severity=severity, evidence=[Evidence(event.text, source)])


def _replays(gpus: Gpus, pci: Pci | None) -> Iterator[Finding]:
    """Find GPUs whose links repeat far more than they may, on the average since boot, or than their siblings' do."""
    minutes = pci.uptime_seconds / 60 if pci and pci.uptime_seconds else None
    told = sorted(gpu.pcie_replays for gpu in gpus.devices if gpu.pcie_replays is not None)
    for gpu in gpus.devices:
        if not gpu.pcie_replays:
            continue
        others = told.copy()
        others.remove(gpu.pcie_replays)
        usual = others[len(others) // 2] if others else None
        allowed = _allowed(gpu)
        if minutes and allowed and gpu.pcie_replays > allowed * max(minutes, 1):
            message = (
                f"{gpu.place}: {gpu.pcie_replays:,} PCIe replays, {gpu.pcie_replays / max(minutes, 1):,.0f} a minute since "
                f"boot, where {allowed} are usual at most: its link repeats what arrives damaged"
            )
            yield check.found(message)
        elif (
            usual is not None
            and gpu.pcie_replays >= OUTLIER_LEAST
            and gpu.pcie_replays >= OUTLIER_TIMES * max(usual, 1)
        ):
            message = (
                f"{gpu.place}: {gpu.pcie_replays:,} PCIe replays, while the other GPUs have about {usual:,}: its link "
                "repeats what arrives damaged"
            )
            yield check.found(message)


def _allowed(gpu: Gpu) -> int | None:
    """Return how many replays a minute a link may have, by its lanes and its generation."""
    rate = REPLAYS.get(gpu.pcie_generation_max or 0)
    return math.ceil(rate * gpu.pcie_width_max) if rate and gpu.pcie_width_max else None
