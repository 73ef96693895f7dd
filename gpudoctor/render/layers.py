"""One line per layer: what is there, in the words of whoever looks after such machines."""

from collections import Counter
from collections.abc import Callable

from gpudoctor.facts import Driver, Gpus, Host, Infiniband, Interfaces, Launch, Names, Pci, Torch, Torchvision
from gpudoctor.model import FAMILIES, Finding, Severity
from gpudoctor.snapshot import Snapshot
from gpudoctor.text import count, whole_gib

SHOWN = ("RANK", "WORLD_", "LOCAL_", "MASTER_", "CUDA_VIS", "SLURM_NTASKS")
"""How the launch variables begin that are shown with their values."""

PORTS = {"InfiniBand": "InfiniBand", "Ethernet": "RoCE"}
"""Kinds of RDMA ports by their link layer."""


def layers(snapshot: Snapshot, findings: list[Finding]) -> list[tuple[str, str, str]]:
    """Return (layer, state, facts) for each layer of which something is known, or in which something was found."""
    rows = []
    for family in [*FAMILIES, *sorted({f.family for f in findings} - set(FAMILIES))]:
        here = [f for f in findings if f.family == family]
        facts = LAYERS[family](snapshot) if family in LAYERS else None
        errors = sum(f.severity is Severity.ERROR for f in here)
        warnings = sum(f.severity is Severity.WARNING for f in here)
        if errors or warnings:
            parts = [count(n, word) for n, word in ((errors, "error"), (warnings, "warning")) if n]
            parts += [facts] if facts else []
            rows.append((family, "broken" if errors else "suspect", ", ".join(parts)))
        elif facts or (family in LAYERS and snapshot.asked(NEEDS[family])):
            state = "unknown" if family == "hardware" and _others_alone(snapshot) else "ok"
            rows.append((family, state, facts) if facts else (family, "unknown", _missing(family, snapshot)))
        elif here:
            rows.append((family, "ok", count(len(here), "note")))
    return rows


def _missing(family: str, snapshot: Snapshot) -> str:
    torch = snapshot.get(Torch)
    if snapshot.get(NEEDS[family]) is None:
        return snapshot.reason(NEEDS[family])
    # A ticket tells that torch was imported, and not what it has.
    return "which backends torch has is not known" if torch and torch.imported else "torch was not imported"


def _hardware(snapshot: Snapshot) -> str | None:
    gpus, pci, host = snapshot.get(Gpus), snapshot.get(Pci), snapshot.get(Host)
    machine = ""
    if host is not None and host.cpus:
        memory = f", {whole_gib(host.memory_bytes)} of memory" if host.memory_bytes else ""
        machine = f"; {host.cpus_usable or host.cpus} CPUs{memory}"
    others = _others(pci)
    if _others_alone(snapshot):
        return f"{others}, not examined{machine}"
    machine = (f"; {others}, not examined" if others else "") + machine
    if gpus is not None and gpus.devices:
        return describe_gpus(gpus) + machine
    if pci is not None and pci.gpus:
        return f"{count(len(pci.gpus), 'NVIDIA GPU')} on the PCI bus" + machine
    if pci is not None:
        return "no NVIDIA GPU on the PCI bus" + machine
    return f"no GPU seen ({gpus.error or 'NVML lists none'}){machine}" if gpus is not None else None


def _others_alone(snapshot: Snapshot) -> bool:
    """Return whether all GPUs are of makers whose GPUs are not examined."""
    gpus, pci = snapshot.get(Gpus), snapshot.get(Pci)
    seen = gpus is not None and bool(gpus.devices)
    return pci is not None and bool(_others(pci)) and not pci.nvidia and not seen


def _others(pci: Pci | None) -> str:
    """Name GPUs of other makers, of which gpudoctor knows no more than that they are there."""
    makers = (("AMD", pci.amd), ("Intel", pci.intel)) if pci else ()
    return " and ".join(count(len(found), f"{maker} GPU") for maker, found in makers if found)


def describe_gpus(gpus: Gpus) -> str:
    """Return what GPUs there are: ``8 x NVIDIA H100 80GB HBM3 80 GiB, PCIe 5.0 x16, NVLink``."""
    sizes = [f" {whole_gib(gpu.memory_bytes)}" if gpu.memory_bytes else "" for gpu in gpus.devices]
    names = Counter(gpu.name + size for gpu, size in zip(gpus.devices, sizes, strict=True))
    parts = [" + ".join(f"{count} x {name or 'GPU'}" for name, count in names.items())]
    links = {(gpu.pcie_generation_max, gpu.pcie_width) for gpu in gpus.devices}
    generation, width = links.pop() if len(links) == 1 else (None, None)
    if generation and width:
        parts.append(f"PCIe {generation}.0 x{width}")
    linked = [gpu.nvlinks_active for gpu in gpus.devices if gpu.nvlinks_active]
    if linked and len(linked) == len(gpus.devices):
        least, most = min(linked), max(linked)
        parts.append(f"{least} NVLinks each" if least == most else f"{least} to {most} NVLinks")
    elif any(pair.path.startswith("NV") for pair in gpus.pairs):
        parts.append("NVLink")
    elif not linked and any(pair.path for pair in gpus.pairs):
        parts.append("no NVLink")
    return ", ".join(parts)


def _driver(snapshot: Snapshot) -> str | None:
    driver, gpus = snapshot.get(Driver), snapshot.get(Gpus)
    if driver is None and gpus is None:
        return None
    version = (gpus.driver_version if gpus else None) or (driver.version if driver else None)
    if version:
        return version + (f", CUDA up to {gpus.cuda_version}" if gpus and gpus.cuda_version else "")
    if driver is not None and driver.dxg:
        return "the Windows driver, through WSL"
    if driver is None and gpus is not None and (gpus.devices or not gpus.error):
        return "its version is not known"  # it answered
    return "no NVIDIA driver loaded"


def _build(snapshot: Snapshot) -> str | None:
    torch, vision = snapshot.get(Torch), snapshot.get(Torchvision)
    if torch is None:
        return None
    if not torch.version:
        return "a torch whose version is not known" if torch.imported else "no working torch"
    kind = f"CUDA {torch.cuda}" if torch.cuda else f"ROCm {torch.hip}" if torch.hip else ""
    kind = kind or ("CPU build" if torch.imported else "not imported")
    parts = [f"torch {torch.version} ({kind}" + (f", cuDNN {torch.cudnn})" if torch.cudnn else ")")]
    if vision is not None and vision.version:
        parts.append(f"torchvision {vision.version}")
    return ", ".join(parts)


def _nccl(snapshot: Snapshot) -> str | None:
    torch = snapshot.get(Torch)
    if torch is None or torch.nccl_available is None:
        return None
    nccl = f"NCCL {torch.nccl or 'built in'}" if torch.nccl_available else "no NCCL"
    gloo = "gloo" if torch.gloo_available else "no gloo"
    return f"{nccl}, {gloo}" + (", MPI" if torch.mpi_available else "")


def _network(snapshot: Snapshot) -> str | None:
    names, interfaces = snapshot.get(Names), snapshot.get(Interfaces)
    if names is None and interfaces is None:
        return None
    parts = []
    if interfaces is not None:
        real = [f"{i.name} {i.addresses[0]}" for i in interfaces.usable if not i.virtual]
        parts += real[:3] or ["loopback alone"]
    if names is not None:
        answer = names.own.error or ", ".join(names.own.addresses[:3])
        verb = f" {names.own.name} resolves to" if names.own.addresses else ":"
        parts.append(f"host name{verb} {answer}")
    adapters = snapshot.get(Infiniband)
    if adapters is not None and adapters.active:
        parts.append(describe_ports(adapters))
    return ", ".join(parts)


def describe_ports(adapters: Infiniband) -> str:
    """Return which RDMA ports carry traffic: ``8 x InfiniBand 400 Gb/s``."""
    kinds: Counter[str] = Counter()
    for device, port in adapters.active:
        kind = PORTS.get(port.link_layer, "EFA" if device.efa else "RDMA")
        kinds[f"{kind} {port.rate_gbps:g} Gb/s" if port.rate_gbps else kind] += 1
    return " + ".join(f"{number} x {kind}" for kind, number in kinds.items())


def _launch(snapshot: Snapshot) -> str | None:
    launch = snapshot.get(Launch)
    if launch is None:
        return None
    shown = [f"{name}={value}" for name, value in launch.variables.items() if name.startswith(SHOWN)]
    if others := len(launch.variables) - len(shown):
        shown.append(count(others, "other variable"))
    return ", ".join(shown) or "no launch variables set"


LAYERS: dict[str, Callable[[Snapshot], str | None]] = {
    "hardware": _hardware,
    "driver": _driver,
    "build": _build,
    "nccl": _nccl,
    "network": _network,
    "launch": _launch,
}
NEEDS: dict[str, type] = {
    "hardware": Pci,
    "driver": Driver,
    "build": Torch,
    "nccl": Torch,
    "network": Names,
    "launch": Launch,
}
