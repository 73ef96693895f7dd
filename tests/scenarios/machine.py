"""What a healthy machine is made of: a description from which each topic's facts are built."""

import importlib
import pkgutil
from dataclasses import dataclass, field

from gpudoctor.facts import KernelEvent
from gpudoctor.report import ProbeResult, ProbeStatus
from gpudoctor.snapshot import Snapshot
from tests.scenarios import topics

GIB = 1024**3


@dataclass(frozen=True)
class Model:
    """A model of GPU, from its public data sheet."""

    name: str
    device: str
    """PCI device id."""
    capability: str
    memory: int
    """GiB."""
    watts: int
    pcie: int
    """Generation."""
    nvlinks: int = 0
    """Links that the chip has."""
    switched: bool = False
    """Its board connects the links by NVSwitches."""
    ecc: bool = True
    remaps_rows: bool = True
    """Ampere and newer data-centre models; older ones retire pages."""
    display: bool = False
    """Class 0x0300 (VGA) and not 0x0302 (3D)."""


T4 = Model("Tesla T4", "0x1eb8", "7.5", 15, 70, 3, remaps_rows=False)
V100 = Model("Tesla V100-SXM2-32GB", "0x1db5", "7.0", 32, 300, 3, nvlinks=6, remaps_rows=False)
A10 = Model("NVIDIA A10", "0x2236", "8.6", 23, 150, 4)
A100 = Model("NVIDIA A100-SXM4-80GB", "0x20b2", "8.0", 80, 400, 4, nvlinks=12, switched=True)
A100_PCIE = Model("NVIDIA A100 80GB PCIe", "0x20b5", "8.0", 80, 300, 4, nvlinks=12)
L4 = Model("NVIDIA L4", "0x27b8", "8.9", 22, 72, 4)
L40S = Model("NVIDIA L40S", "0x26b9", "8.9", 45, 350, 4)
H100 = Model("NVIDIA H100 80GB HBM3", "0x2330", "9.0", 80, 700, 5, nvlinks=18, switched=True)
H100_PCIE = Model("NVIDIA H100 PCIe", "0x2331", "9.0", 80, 350, 5, nvlinks=18)
H200 = Model("NVIDIA H200", "0x2335", "9.0", 141, 700, 5, nvlinks=18, switched=True)
B200 = Model("NVIDIA B200", "0x2901", "10.0", 180, 1000, 5, nvlinks=18, switched=True)
GH200 = Model("NVIDIA GH200 480GB", "0x2342", "9.0", 96, 900, 5, nvlinks=18)
RTX_2080_TI = Model(
    "NVIDIA GeForce RTX 2080 Ti",
    "0x1e07",
    "7.5",
    11,
    250,
    3,
    nvlinks=2,
    ecc=False,
    remaps_rows=False,
    display=True,
)
RTX_3090 = Model(
    "NVIDIA GeForce RTX 3090",
    "0x2204",
    "8.6",
    24,
    350,
    4,
    nvlinks=4,
    ecc=False,
    remaps_rows=False,
    display=True,
)
RTX_4090 = Model(
    "NVIDIA GeForce RTX 4090", "0x2684", "8.9", 24, 450, 4, ecc=False, remaps_rows=False, display=True
)
RTX_5090 = Model(
    "NVIDIA GeForce RTX 5090", "0x2b85", "12.0", 32, 575, 5, ecc=False, remaps_rows=False, display=True
)
RTX_A6000 = Model("NVIDIA RTX A6000", "0x2230", "8.6", 48, 300, 4, nvlinks=4, display=True)


@dataclass(frozen=True)
class Machine:
    """A healthy machine; what is not said is as on a usual Linux server on bare metal."""

    models: tuple[Model, ...] = ()
    """One for each GPU that NVML shows."""
    on_bus: int = 0
    """GPUs on the PCI bus where that is more: a container or a Slurm job has k of n."""
    bridged: bool = True
    """NVLinks of cards without NVSwitches are connected by bridges."""
    container: str | None = None
    wsl: bool = False
    virtual: bool = False
    """A virtual machine in a cloud."""
    mig: int = 0
    """MIG instances of each GPU."""
    fabric: bool = True
    """GPUs that are made for NVSwitches are connected to them; a virtual machine may be given one GPU without."""
    lanes: int = 16
    """Of each slot; a GPU in a slot with fewer lanes than it has uses those."""
    iommu: str = "identity"
    """``iommu_group/type`` on bare metal."""
    kernel_events: tuple[KernelEvent, ...] = ()
    """What the kernel log holds that harms nobody."""
    driver: str = "580.82.07"
    cuda_driver: str = "13.0"
    torch: str = "2.15.0+cu132"
    cuda: str | None = "13.2"
    cpus: int = 128
    sockets: int = 2
    memory: int = 1024
    """GiB."""
    hosts_file: str = "10.0.0.4"
    """What the own host name resolves to."""
    infiniband: int = 0
    """InfiniBand ports."""
    roce: bool = False
    """Those are RoCE."""
    efa: bool = False
    """Those are Amazon's EFA."""
    variables: dict[str, str] = field(default_factory=dict)
    """Launch variables."""
    visible: int | None = None
    """Devices that torch sees, where CUDA_VISIBLE_DEVICES leaves fewer."""
    unread: frozenset[str] = frozenset()
    """Topics that could not be read."""

    @property
    def model(self) -> Model:
        """The model of the first GPU."""
        return self.models[0]


def snapshot(machine: Machine) -> Snapshot:
    """Build every topic of a machine; each is a module of `tests.scenarios.topics` with ``facts(machine)``.

    A topic whose function returns ``None`` is not known there, as one that could not be read.
    """
    facts = {}
    probes = []
    for item in pkgutil.iter_modules(topics.__path__):
        known = None
        if item.name not in machine.unread:
            known = importlib.import_module(f"{topics.__name__}.{item.name}").facts(machine)
        if known is not None:
            facts[item.name] = known
        status = ProbeStatus.FAILED if known is None else ProbeStatus.OK
        reason = "PermissionError: needs root" if known is None else None
        probes.append(ProbeResult(name=item.name, status=status, reason=reason))
    return Snapshot(facts, probes)
