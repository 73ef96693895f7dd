"""Accelerators on the PCI bus: what is plugged in, whatever the driver thinks of it."""

from msgspec import Struct

from gpudoctor.patterns import late_pattern

# PCI class codes (PCI Code and ID Assignment Specification): VGA controller, 3D controller.
GPU_CLASSES = ("0x0300", "0x0302")
ACCELERATORS = (*GPU_CLASSES, "0x0380", "0x1200")
"""Other display controllers and processing accelerators too."""
# Control groups of jobs and containers: Slurm's are /slurm/uid_1000/job_7/step_0 and .../slurmstepd.scope/job_7/...;
# /system.slice/slurmd.service is the daemon's own, in which a prolog runs that sees all.
GROUPS = late_pattern(
    r"/job_\d+\b|docker[-/][0-9a-f]{12}|kubepods|libpod|/lxc|cri-containerd|crio-|buildkit|htcondor|machine\.slice"
)
TURING, BLACKWELL = 0x1E00, 0x2900
"""The first device ids of these generations: NVIDIA hands them out in order (table in the README of its
open-gpu-kernel-modules). Before Turing there is no GPU System Processor, which the open module needs."""
GRACE_HOPPER = range(0x2340, 0x234F)
NVSWITCH_CLASS = "0x0680"
"""A bridge of vendor NVIDIA: an NVSwitch."""


class AerErrors(Struct, frozen=True, kw_only=True):
    """PCI Express advanced error reporting, summed over the kinds of error, since boot."""

    correctable: int = 0
    nonfatal: int = 0
    fatal: int = 0
    kinds: dict[str, int] = {}
    """The fatal and non-fatal ones by the kernel's name for them (``CmpltTO``, ``DLP``, ``UnsupReq``), where not 0."""


class PciDevice(Struct, frozen=True, kw_only=True):
    """One PCI function, from ``/sys/bus/pci/devices``."""

    address: str
    """Domain, bus, device and function, such as ``0000:3b:00.0``."""
    device: str = ""
    """Device id, such as ``0x2330``."""
    device_class: str = ""
    """The first two bytes of the class code, such as ``0x0302``."""
    driver: str | None = None
    """The kernel driver that is bound to it: ``nvidia``, ``nouveau``, ``vfio-pci``; ``None``: none."""
    link_width: int | None = None
    """Lanes now (``current_link_width``); ``None``: not a PCI Express function, or not told."""
    link_width_max: int | None = None
    link_speed: str = ""
    """``current_link_speed``, such as ``16.0 GT/s PCIe``; an idle link may show a low one."""
    link_speed_max: str = ""
    upstream_width_max: int | None = None
    """The most lanes that the port above it offers."""
    numa_node: int | None = None
    """``None``: one node, or the firmware does not say (-1)."""
    local_cpus: str = ""
    """``local_cpulist``, such as ``0-31,64-95``."""
    iommu: str = ""
    """``iommu_group/type``: ``identity``, ``DMA``, ``DMA-FQ``; empty: in no group."""
    aer: AerErrors | None = None
    """``None``: the kernel does not report them for it."""
    switch: str = ""
    """PCI address of the PCI Express switch port or root port above it."""
    above: list[str] = []
    """PCI addresses of all bridges above it, the nearest first; the last one is the root port."""
    root: str = ""
    """The host bridge that it hangs on, such as ``pci0000:16``."""
    minor: int | None = None
    """Of NVIDIA's driver: the n of ``/dev/nvidiaN`` (``/proc/driver/nvidia/gpus``)."""
    excluded: bool | None = None
    """The driver was told to leave it out (``GPU Excluded: Yes``, the module's NVreg_ExcludedGpus)."""
    names: list[str] = []
    """Of a network adapter: its RDMA device and its interfaces, such as ``mlx5_0``."""

    def runs_under(self, kind: str) -> bool | None:
        """Return whether NVIDIA's kernel module of a kind, ``open`` or ``closed``, runs this GPU; ``None``: not known.

        As NVIDIA's driver installation guide has it: closed before Turing, open from Blackwell on and for Grace
        Hopper, both between.
        """
        try:
            number = int(self.device, 16)
        except ValueError:
            return None
        if kind == "open":
            return number >= TURING
        return number < BLACKWELL and number not in GRACE_HOPPER


class Bridge(Struct, frozen=True, kw_only=True):
    """A PCI Express bridge above a GPU."""

    address: str
    acs: bool | None = None
    """Access control services redirect peer traffic; ``None``: its configuration space was not readable (root only)."""
    aer: AerErrors | None = None


class Pci(Struct, frozen=True, kw_only=True):
    """PCI functions of vendor 0x10de (NVIDIA), and GPUs of other vendors."""

    nvidia: list[PciDevice] = []
    amd: list[PciDevice] = []
    """Display controllers and processing accelerators of vendor 0x1002."""
    intel: list[PciDevice] = []
    """The same of vendor 0x8086 that are discrete: a 3D or display controller of no root complex."""
    nics: list[PciDevice] = []
    """Network adapters with an RDMA device: those that GPUs may send through; without their virtual functions."""
    bridges: list[Bridge] = []
    """Above the NVIDIA GPUs, each once."""
    uptime_seconds: float | None = None
    """Since boot (``/proc/uptime``): the time over which errors were counted."""
    cgroup: str = ""
    """The control group of this process (``/proc/self/cgroup``): a scheduler's or container's may leave it some of the
    GPUs only."""

    @property
    def gpus(self) -> list[PciDevice]:
        """The GPUs among them; not their audio functions, bridges and NVSwitches."""
        return [d for d in self.nvidia if d.device_class in GPU_CLASSES]

    @property
    def usable(self) -> list[PciDevice]:
        """The GPUs that are this system's own: one that vfio-pci holds is handed on to a virtual machine."""
        return [d for d in self.gpus if d.driver != "vfio-pci"]

    @property
    def switches(self) -> list[PciDevice]:
        """The NVSwitches."""
        return [d for d in self.nvidia if d.device_class == NVSWITCH_CLASS]

    @property
    def bound(self) -> list[PciDevice]:
        """The GPUs that NVIDIA's driver holds and was not told to leave out."""
        return [d for d in self.gpus if d.driver == "nvidia" and not d.excluded]

    @property
    def share(self) -> bool:
        """Whether the control group is a job's or a container's: GPUs that are not its own are no loss."""
        return GROUPS.search(self.cgroup) is not None

    def at(self, address: str) -> PciDevice | None:
        """Return the NVIDIA function at an address, or ``None``."""
        return next((d for d in self.nvidia if address and d.address == address), None)

    def bridge(self, address: str) -> Bridge | None:
        """Return the bridge at an address, or ``None``."""
        return next((b for b in self.bridges if address and b.address == address), None)


def path_between(first: PciDevice, second: PciDevice) -> str:
    """Return how two functions are connected, as ``nvidia-smi topo -m`` names it; empty: not known.

    ``PIX`` at most one bridge between them, ``PXB`` several, ``PHB`` one host bridge, ``NODE`` one NUMA node, ``SYS``
    between nodes.
    """
    shared = next((n for n, address in enumerate(first.above) if address in second.above), None)
    if shared is not None:
        # A switch is an upstream port and the ports below it: two ports of one switch are one bridge.
        far = max(shared, second.above.index(first.above[shared]))
        return "PIX" if far <= 1 else "PXB"
    if not first.root or not second.root:
        return ""
    if first.root == second.root:
        return "PHB"
    if first.numa_node is None or second.numa_node is None:
        return ""
    return "NODE" if first.numa_node == second.numa_node else "SYS"
