"""Accelerators on the PCI bus: what is plugged in, whatever the driver thinks of it."""

from msgspec import Struct

# PCI class codes (PCI Code and ID Assignment Specification): VGA controller, 3D controller.
GPU_CLASSES = ("0x0300", "0x0302")
NVSWITCH_CLASS = "0x0680"
"""A bridge of vendor NVIDIA: an NVSwitch."""


class AerErrors(Struct, frozen=True, kw_only=True):
    """PCI Express advanced error reporting, summed over the kinds of error, since boot."""

    correctable: int = 0
    nonfatal: int = 0
    fatal: int = 0


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


class Bridge(Struct, frozen=True, kw_only=True):
    """A PCI Express bridge above a GPU."""

    address: str
    acs: bool | None = None
    """Access control services redirect peer traffic; ``None``: its configuration space was not readable (root only)."""


class Pci(Struct, frozen=True, kw_only=True):
    """PCI functions of vendor 0x10de (NVIDIA), and GPUs of other vendors."""

    nvidia: list[PciDevice] = []
    amd: list[PciDevice] = []
    """Display controllers and processing accelerators of vendor 0x1002."""
    intel: list[PciDevice] = []
    """The same of vendor 0x8086 that are discrete: a 3D or display controller of no root complex."""
    bridges: list[Bridge] = []
    """Above the NVIDIA GPUs, each once."""

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

    def at(self, address: str) -> PciDevice | None:
        """Return the NVIDIA function at an address, or ``None``."""
        return next((d for d in self.nvidia if address and d.address == address), None)
