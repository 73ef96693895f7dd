"""How the GPUs of a machine are connected: a matrix as of ``nvidia-smi topo -m``, with what hangs near each."""

from collections.abc import Iterable

from gpudoctor.facts import Gpu, GpuPair, Gpus, Pci, PciDevice, path_between
from gpudoctor.model import Finding, Severity
from gpudoctor.snapshot import Snapshot
from gpudoctor.text import listed

SPEAKS_OF_IT = frozenset(
    "acs-enabled fabric-manager-down fabric-state gpu-missing gpu-sxid imex-down iommu-translating nccl-p2p "
    "nvlink-down nvlink-errors numa-affinity numa-remote-gpu p2p-corruption pcie-errors pcie-link-degraded "
    "pcie-p2p-driver".split()
)
"""Checks whose findings the picture explains."""
MEANINGS = {
    "NV": "that many NVLinks",
    "PIX": "at most one PCIe bridge",
    "PXB": "several PCIe bridges, not the processor",
    "PHB": "one PCIe host bridge of the processor",
    "NODE": "several host bridges of one NUMA node",
    "SYS": "the link between NUMA nodes",
}
DENIED = {
    "CNS": "chipset not supported",
    "GNS": "GPU not supported",
    "TNS": "topology not supported",
    "DR": "disabled by registry key",
    "NS": "not supported",
}
NEAR = ("PIX", "PXB", "PHB", "NODE", "SYS")
"""The nearest first."""
NICS_SHOWN = 2
UNKNOWN = "?"


def wanted(findings: Iterable[Finding]) -> bool:
    """Return whether something was found, above a note, that the picture explains."""
    return any(f.id in SPEAKS_OF_IT and f.severity is not Severity.NOTE for f in findings)


def topology(snapshot: Snapshot) -> str | None:
    """Return the picture as text; ``None`` where there are not two GPUs, or nothing is known of how they are joined."""
    gpus, pci = snapshot.get(Gpus), snapshot.get(Pci)
    if gpus is None or len(gpus.devices) < 2:
        return None
    paths = {
        (a.index, b.index): _path(gpus, pci, a, b) for a in gpus.devices for b in gpus.devices if a is not b
    }
    near = {gpu.index: _nics(_device(pci, gpu), pci) for gpu in gpus.devices}
    if not any(paths.values()) and not any(near.values()):
        return None
    header = ["", *(f"GPU{gpu.index}" for gpu in gpus.devices), "NUMA", "CPUs", "PCIe", "NICs"]
    rows = [header]
    for gpu in gpus.devices:
        device = _device(pci, gpu)
        cells = [_cell(gpus, paths, gpu, other) for other in gpus.devices]
        node = "" if device is None or device.numa_node is None else str(device.numa_node)
        cpus = device.local_cpus if device else ""
        rows.append([f"GPU{gpu.index}", *cells, node, cpus, _link(gpu), near[gpu.index]])
    return "\n".join([*_aligned(rows), "", *_legend(rows)])


def _device(pci: Pci | None, gpu: Gpu) -> PciDevice | None:
    return pci.at(gpu.pci_address) if pci else None


def _path(gpus: Gpus, pci: Pci | None, a: Gpu, b: Gpu) -> str:
    """Return how two GPUs are connected, as NVML says it, or else as the bus shows it."""
    pair = gpus.pair(a.index, b.index)
    if pair is not None and pair.path:
        return pair.path
    if a.nvlinks_active and b.nvlinks_active:
        return ""  # they may well be joined
    first, second = _device(pci, a), _device(pci, b)
    return path_between(first, second) if first and second else ""


def _cell(gpus: Gpus, paths: dict[tuple[int, int], str], a: Gpu, b: Gpu) -> str:
    """Return one field of the matrix; where peer access is denied, with NVML's word for the reason."""
    if a is b:
        return "X"
    pair = gpus.pair(a.index, b.index) or GpuPair(first=a.index, second=b.index)
    path = paths[a.index, b.index] or UNKNOWN
    return path if pair.p2p in ("", "OK") else f"{path}/{pair.p2p}"


def _link(gpu: Gpu) -> str:
    """Return a GPU's PCIe link, ``5.0 x16``; with what it could be where that is more lanes."""
    generation, lanes, most = gpu.pcie_generation_max, gpu.pcie_width, gpu.pcie_width_max
    if not generation or not lanes:
        return ""
    return f"{generation}.0 x{lanes}" + (f" of x{most}" if most and most > lanes else "")


def _nics(device: PciDevice | None, pci: Pci | None) -> str:
    """Return the RDMA adapters nearest to a GPU, and how near that is."""
    if device is None or pci is None:
        return ""
    ways = [(path_between(device, nic), nic.names[0]) for nic in pci.nics if nic.names]
    best = min((NEAR.index(path) for path, _ in ways if path), default=None)
    if best is None:
        return ""
    names = [name for path, name in ways if path == NEAR[best]]
    return f"{listed(names, NICS_SHOWN)} ({NEAR[best]})"


def _aligned(rows: list[list[str]]) -> list[str]:
    """Return rows as lines; columns in which nothing stands are left out."""
    kept = [n for n in range(len(rows[0])) if n == 0 or any(row[n] for row in rows[1:])]
    widths = {n: max(len(row[n]) for row in rows) for n in kept}
    return ["  ".join(f"{row[n]:<{widths[n]}}" for n in kept).rstrip() for row in rows]


def _legend(rows: list[list[str]]) -> list[str]:
    """Explain the words that stand in the matrix."""
    last = rows[0].index("NUMA")
    cells = {cell for row in rows[1:] for cell in row[1:last]} | {
        row[-1].rpartition("(")[2].rstrip(")") for row in rows
    }
    paths = {cell.partition("/")[0] for cell in cells}
    found = [word for word in MEANINGS if any(path.startswith(word) for path in paths)]
    told = [f"{'NVn' if word == 'NV' else word}: {MEANINGS[word]}" for word in found]
    told += [
        f"/{word}: no peer access, {meaning}"
        for word, meaning in DENIED.items()
        if any(cell.endswith(f"/{word}") for cell in cells)
    ]
    return ["; ".join(told)] if told else []
