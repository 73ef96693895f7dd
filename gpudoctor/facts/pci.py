"""NVIDIA hardware on the PCI bus: what is plugged in, whatever the driver thinks of it."""

from msgspec import Struct

# PCI class codes (PCI Code and ID Assignment Specification): VGA controller, 3D controller.
GPU_CLASSES = ("0x0300", "0x0302")


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


class Pci(Struct, frozen=True, kw_only=True):
    """Every PCI function of vendor 0x10de (NVIDIA)."""

    nvidia: list[PciDevice] = []

    @property
    def gpus(self) -> list[PciDevice]:
        """The GPUs among them; not their audio functions, bridges and NVSwitches."""
        return [d for d in self.nvidia if d.device_class in GPU_CLASSES]

    @property
    def usable(self) -> list[PciDevice]:
        """The GPUs that are this system's own: one that vfio-pci holds is handed on to a virtual machine."""
        return [d for d in self.gpus if d.driver != "vfio-pci"]
