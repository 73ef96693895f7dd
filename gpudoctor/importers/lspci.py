"""``lspci``, plain or with ``-nn``, ``-k`` and ``-vv`` -> what is on the PCI bus."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from msgspec.structs import replace

from gpudoctor.facts import Bridge, Pci, PciDevice
from gpudoctor.facts.pci import ACCELERATORS, GPU_CLASSES

_DEVICE = re.compile(
    r"(?P<address>(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]) (?P<kind>[A-Z3][^:\[]{2,60}?)"
    r"(?: \[(?P<class>[0-9a-f]{4})\])?: (?P<name>.{3,300})"
)
_IDS = re.compile(r"\[(?P<vendor>[0-9a-f]{4}):(?P<device>[0-9a-f]{4})\]")
# PCI class codes, where -nn was not given.
_CLASSES = {
    "vga compatible controller": "0x0300",
    "3d controller": "0x0302",
    "display controller": "0x0380",
    "processing accelerators": "0x1200",
    "audio device": "0x0403",
    "bridge": "0x0680",
    "pci bridge": "0x0604",
    "usb controller": "0x0c03",
    "serial bus controller": "0x0c80",
}
_VENDORS = {"10de": "nvidia", "1002": "amd", "8086": "intel"}
_LINK = re.compile(
    r"Lnk(?P<what>Cap|Sta):.{0,80}?Speed (?P<speed>[\d.]{1,5}) ?GT/s.{0,40}?, Width x(?P<width>\d{1,2})"
)
_BUSES = re.compile(
    r"Bus: primary=\w\w, secondary=(?P<first>[0-9a-f]{2}), subordinate=(?P<last>[0-9a-f]{2})\b"
)
# What lets traffic between GPUs turn back: source validation, request and completion redirect, upstream forwarding.
_ACS = re.compile(r"ACSCtl:\s(?P<on>.*\b(?:SrcValid|ReqRedir|CmpltRedir|UpstreamFwd)\+)?")
_BRIDGE = "0x0604"
_NUMA = re.compile(r"NUMA node: (\d{1,4})$")
_MOST = 4096


@dataclass
class _Device:
    """One device, line after line."""

    vendor: str
    values: dict[str, Any]
    driver_told: bool = False


@dataclass
class Listing:
    """What a listing holds."""

    pci: Pci | None = None
    drivers: bool = False
    """It says which kernel driver each NVIDIA GPU has (``-k``)."""
    found: list[_Device] = field(default_factory=list)


def read(lines: Iterable[str]) -> Listing:
    """Read the devices of NVIDIA, and the GPUs of others; a listing without any NVIDIA device tells nothing of them.

    ``3b:00.0 3D controller [0302]: NVIDIA Corporation GA100 [A100 PCIe 40GB] [10de:20f1] (rev a1)``
    """
    listing = Listing()
    current: _Device | None = None
    seen = set[str]()
    for line in lines:
        if line[:1] in "0123456789abcdefABCDEF" and (match := _DEVICE.match(line[:500])):
            current = _device(match)
            if current is not None and (current.values["address"] in seen or len(seen) >= _MOST):
                current = None
            if current is not None:
                seen.add(current.values["address"])
                listing.found.append(current)
        elif current is not None:
            _detail(current, line)
    if any(device.vendor != "bridge" for device in listing.found):
        listing.pci = _pci(listing.found)
        gpus = [d for d in listing.found if d.vendor == "nvidia" and d.values["device_class"] in GPU_CLASSES]
        listing.drivers = bool(gpus) and any(device.driver_told for device in gpus)
    return listing


def _device(match: re.Match[str]) -> _Device | None:
    ids = _IDS.search(match["name"])
    vendor = _VENDORS.get(ids["vendor"]) if ids else None
    if ids is None:
        words = match["name"]
        vendor = (
            "nvidia" if "NVIDIA" in words else "amd" if words.startswith("Advanced Micro Devices") else None
        )
        vendor = "intel" if words.startswith("Intel Corporation") else vendor
    kind = f"0x{match['class']}" if match["class"] else _CLASSES.get(match["kind"].lower(), "")
    if kind == _BRIDGE:
        vendor = "bridge"
    if vendor is None or not kind:
        return None
    address = match["address"].lower()
    if vendor not in ("nvidia", "bridge") and (
        kind not in ACCELERATORS or (vendor == "intel" and address.endswith("00:02.0"))
    ):
        return None  # an Intel processor's own graphics are no GPU to train on
    address = address if address.count(":") == 2 else f"0000:{address}"
    return _Device(vendor, {
        "address": address, "device_class": kind, "device": f"0x{ids['device']}" if ids else "",
    })  # fmt: skip


def _detail(device: _Device, line: str) -> None:
    if line.startswith("Kernel driver in use: "):
        device.values.setdefault("driver", line.split(": ", 1)[1].strip()[:40])
        device.driver_told = True
    elif line.startswith("Kernel modules: "):
        device.driver_told = True
    elif device.vendor == "bridge":
        if match := _BUSES.match(line):
            device.values.setdefault("buses", (int(match["first"], 16), int(match["last"], 16)))
        elif match := _ACS.match(line[:300]):
            device.values.setdefault("acs", match["on"] is not None)
    elif match := _NUMA.match(line):
        device.values.setdefault("numa_node", int(match[1]))
    elif line.startswith(("LnkCap:", "LnkSta:")) and (match := _LINK.match(line[:300])):
        name = "_max" if match["what"] == "Cap" else ""
        device.values.setdefault(f"link_width{name}", int(match["width"]))
        speed = match["speed"] if "." in match["speed"] else f"{match['speed']}.0"
        device.values.setdefault(f"link_speed{name}", f"{speed} GT/s PCIe")


def _pci(found: list[_Device]) -> Pci:
    def of(vendor: str) -> list[PciDevice]:
        return [PciDevice(**device.values) for device in found if device.vendor == vendor]

    return _with_bridges(Pci(nvidia=of("nvidia"), amd=of("amd"), intel=of("intel")), found)


def _with_bridges(pci: Pci, found: list[_Device]) -> Pci:
    """Set the bridges above NVIDIA's GPUs, by the buses that lie below them; root alone sees their access control."""
    ports = [device.values for device in found if "buses" in device.values]
    above: dict[str, list[str]] = {}
    for card in pci.nvidia:
        domain, bus, _ = card.address.split(":")
        over = [
            port
            for port in ports
            if port["address"].startswith(f"{domain}:")
            and port["buses"][0] <= int(bus, 16) <= port["buses"][1]
        ]
        over.sort(key=lambda port: int(port["buses"][1] - port["buses"][0]))
        above[card.address] = [port["address"] for port in over]
    used = {address for addresses in above.values() for address in addresses}
    bridges = [
        Bridge(address=port["address"], acs=port.get("acs")) for port in ports if port["address"] in used
    ]
    cards = [replace(card, above=above[card.address]) for card in pci.nvidia]
    return replace(pci, nvidia=cards, bridges=bridges)
