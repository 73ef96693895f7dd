"""Read the PCI bus from sysfs. Nothing here needs root; with root the bridges' access control is readable too."""

import re
from pathlib import Path
from typing import NamedTuple

from gpudoctor.facts import AerErrors, Bridge, Pci, PciDevice
from gpudoctor.facts.pci import ACCELERATORS

NVIDIA, AMD, INTEL = "0x10de", "0x1002", "0x8086"
ADDRESS = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]")
DISCRETE = ("0x0302", "0x0380", "0x1200")
NETWORK = "0x02"
BRIDGE = "0x0604"
SECONDARY_BUS, SUBORDINATE_BUS = 0x19, 0x1A
"""Where the header of a bridge's configuration holds the first and the last bus below it."""
LANES = (1, 2, 4, 8, 12, 16, 32)
"""What a link can have; a device that does not answer reads 63, one without a link 0."""

# PCI Express Base Specification, extended capabilities: they begin at 0x100, each with its id, and in its upper
# twelve bits the place of the next one. Access Control Services is 0x000d; its control register lies 6 bytes in.
EXTENDED, ACS, ACS_CONTROL = 0x100, 0x000D, 6
# Source validation, request redirect, completion redirect, upstream forwarding: what the kernel sets together
# (pci_std_enable_acs); NCCL's documentation goes by the first.
ACS_REDIRECTS = 0x01 | 0x04 | 0x08 | 0x10


def probe(root: Path = Path("/")) -> Pci:
    """Read the accelerators and RDMA adapters below `root`; raises OSError where there is no PCI bus to list."""
    nvidia, amd, intel, nics = [], [], [], []
    bridges: dict[str, Path] = {}
    folders = sorted((root / "sys/bus/pci/devices").iterdir())
    ports = _ports(folders)
    for folder in folders:
        vendor, kind = _text(folder / "vendor"), (_text(folder / "class") or "")[:6]
        if vendor is None or not kind:  # gone between the listing and the reading
            continue
        if vendor == NVIDIA:
            nvidia.append(_device(folder, kind, root, ports))
            if kind in ACCELERATORS:
                bridges.update(_above(folder, ports))
        elif vendor == AMD and kind in ACCELERATORS:
            amd.append(_device(folder, kind, root, ports))
        elif vendor == INTEL and (kind in DISCRETE or (kind in ACCELERATORS and _above(folder, ports))):
            intel.append(_device(folder, kind, root, ports))
        elif kind.startswith(NETWORK) and (names := _rdma(folder)):
            nics.append(_device(folder, kind, root, ports, names))
    return Pci(
        nvidia=nvidia,
        amd=amd,
        intel=intel,
        nics=nics,
        bridges=[
            Bridge(address=address, acs=_redirects(path), aer=_aer(path)) for address, path in bridges.items()
        ],
        uptime_seconds=_uptime(root),
        cgroup=_cgroup(root),
    )


def _device(
    folder: Path, kind: str, root: Path, ports: list["_Port"], names: list[str] | None = None
) -> PciDevice:
    chain = _above(folder, ports)
    above = next(iter(chain.values()), None)
    node = _number(folder / "numa_node")
    told = _told_by_driver(root / "proc/driver/nvidia/gpus" / folder.name / "information")
    return PciDevice(
        address=folder.name,
        device=_text(folder / "device") or "",
        device_class=kind,
        driver=_target(folder / "driver"),
        link_width=_lanes(folder / "current_link_width"),
        link_width_max=_lanes(folder / "max_link_width"),
        link_speed=_speed(folder / "current_link_speed"),
        link_speed_max=_speed(folder / "max_link_speed"),
        upstream_width_max=_lanes(above / "max_link_width") if above else None,
        numa_node=node if node is not None and node >= 0 else None,
        local_cpus=_text(folder / "local_cpulist") or "",
        iommu=_text(folder / "iommu_group/type") or "",
        aer=_aer(folder),
        switch=next(iter(chain), ""),
        above=list(chain),
        root=_host_bridge(folder),
        minor=int(told["Device Minor"]) if told.get("Device Minor", "").isdecimal() else None,
        excluded={"Yes": True, "No": False}.get(told.get("GPU Excluded", told.get("Blacklisted", ""))),
        names=names or [],
    )


def _text(path: Path) -> str | None:
    """Read a file of one line; ``None`` where it is not there or gives an error (EIO, EINVAL of a lost device)."""
    try:
        return path.read_bytes().decode(errors="replace").strip()
    except OSError:
        return None


def _number(path: Path) -> int | None:
    text = _text(path) or ""
    return int(text) if re.fullmatch(r"-?\d{1,9}", text) else None


def _lanes(path: Path) -> int | None:
    lanes = _number(path)
    return lanes if lanes in LANES else None


def _speed(path: Path) -> str:
    """Read a link's speed; the kernel writes ``Unknown`` where there is none."""
    text = _text(path) or ""
    return text if text[:1].isdecimal() else ""


def _target(link: Path) -> str | None:
    try:
        return link.resolve().name if link.exists() else None
    except OSError:
        return None


class _Port(NamedTuple):
    """A bridge, and the buses that lie below it."""

    domain: str
    first: int
    last: int
    folder: Path


def _ports(folders: list[Path]) -> list[_Port]:
    """Return the bridges with their buses: two attributes, or two bytes of the configuration's public part."""
    found = []
    for folder in folders:
        if not (_text(folder / "class") or "").startswith(BRIDGE):
            continue
        first, last = _number(folder / "secondary_bus_number"), _number(folder / "subordinate_bus_number")
        space = _bytes(folder / "config")
        if (first is None or last is None) and len(space) > SUBORDINATE_BUS:
            first, last = space[SECONDARY_BUS], space[SUBORDINATE_BUS]
        if first and last:
            found.append(_Port(folder.name.partition(":")[0], first, last, folder))
    return found


def _above(folder: Path, ports: list[_Port]) -> dict[str, Path]:
    """Return the bridges above a device, the nearest first: its folder lies in theirs.

    Where the folders do not lie in each other, as in a copied tree, the numbers of the buses tell.
    """
    try:
        place = folder.resolve()
    except OSError:
        return {}
    parents = {parent.name: parent for parent in place.parents if ADDRESS.fullmatch(parent.name)}
    if parents or not ADDRESS.fullmatch(folder.name):
        return parents
    domain, bus, _ = folder.name.split(":")
    over = [port for port in ports if port.domain == domain and port.first <= int(bus, 16) <= port.last]
    return {port.folder.name: port.folder for port in sorted(over, key=lambda port: port.last - port.first)}


def _host_bridge(folder: Path) -> str:
    try:
        place = folder.resolve()
    except OSError:
        return ""
    return next((p.name for p in place.parents if re.fullmatch(r"pci[0-9a-f]{4,8}:[0-9a-f]{2}", p.name)), "")


def _rdma(folder: Path) -> list[str]:
    """Name the RDMA device and the interfaces of a network adapter; nothing of one without RDMA, or a part of one."""
    try:
        if (folder / "physfn").exists():
            return []
        devices = sorted(path.name for path in (folder / "infiniband").iterdir())
    except OSError:
        return []
    try:
        return devices + sorted(path.name for path in (folder / "net").iterdir())
    except OSError:
        return devices


def _aer(folder: Path) -> AerErrors | None:
    """Read the counters of advanced error reporting: lines ``NAME N``, then their sum."""
    sums: dict[str, int] = {}
    kinds: dict[str, int] = {}
    for severity in ("correctable", "nonfatal", "fatal"):
        text = _text(folder / f"aer_dev_{severity}")
        counts = dict(re.findall(r"^(\S.*?) (\d+)$", text or "", re.MULTILINE))
        totals = [int(n) for name, n in counts.items() if name.startswith("TOTAL_ERR")]
        named = {name: int(n) for name, n in counts.items() if not name.startswith("TOTAL_ERR") and int(n)}
        if text is not None:
            sums[severity] = max([*totals, sum(named.values())])
        if severity != "correctable":
            kinds |= {name: kinds.get(name, 0) + n for name, n in named.items()}
    if not sums:
        return None
    return AerErrors(
        correctable=sums.get("correctable", 0),
        nonfatal=sums.get("nonfatal", 0),
        fatal=sums.get("fatal", 0),
        kinds=kinds,
    )


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _redirects(folder: Path) -> bool | None:
    """Return whether a bridge's access control redirects; ``None`` where only the first 64 bytes are readable."""
    space = _bytes(folder / "config")
    if len(space) < EXTENDED + 4:
        return None
    place, seen = EXTENDED, set()
    while EXTENDED <= place <= len(space) - ACS_CONTROL - 2 and place not in seen:
        seen.add(place)
        header = int.from_bytes(space[place : place + 4], "little")
        if header in (0, 0xFFFFFFFF):
            break
        if header & 0xFFFF == ACS:
            control = int.from_bytes(space[place + ACS_CONTROL : place + ACS_CONTROL + 2], "little")
            return bool(control & ACS_REDIRECTS)
        place = header >> 20
    return False


def _told_by_driver(path: Path) -> dict[str, str]:
    r"""Read what NVIDIA's driver says of a GPU: lines ``Device Minor: \t 0``."""
    pairs = (line.partition(":") for line in (_text(path) or "").splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _uptime(root: Path) -> float | None:
    word = (_text(root / "proc/uptime") or "").partition(" ")[0]
    return float(word) if re.fullmatch(r"\d+(\.\d+)?", word) else None


def _cgroup(root: Path) -> str:
    """Read the control group of this process; of cgroup v1 that of the devices' controller, where it has one."""
    lines = [line.split(":", 2) for line in (_text(root / "proc/self/cgroup") or "").splitlines()]
    paths = {parts[1]: parts[2] for parts in lines if len(parts) == 3}
    return paths.get("devices") or paths.get("") or next(iter(paths.values()), "")
