"""The GPUs as NVIDIA's management library (NVML) sees them: all of them, whatever CUDA_VISIBLE_DEVICES says."""

from msgspec import Struct


class Gpu(Struct, frozen=True, kw_only=True):
    """One GPU. A value that its NVML call could not give is ``None``."""

    index: int
    """NVML's index: PCI bus order."""
    name: str = ""
    uuid: str = ""
    capability: str | None = None
    """CUDA compute capability, such as ``9.0``."""
    memory_bytes: int | None = None
    memory_used_bytes: int | None = None
    pci_address: str = ""
    """Such as ``0000:3b:00.0``."""
    pcie_generation: int | None = None
    """Of the link now; an idle link may show a low one."""
    pcie_generation_max: int | None = None
    pcie_width: int | None = None
    """Lanes of the link now."""
    pcie_width_max: int | None = None
    nvlinks_active: int | None = None
    """Active NVLink links; ``None``: this GPU has none or NVML does not say."""
    mig: bool | None = None
    """MIG mode is on."""
    mig_uuids: list[str] = []
    """UUIDs of its MIG instances."""
    compute_mode: str | None = None
    """``default``, ``exclusive_process`` or ``prohibited``."""
    temperature_celsius: int | None = None
    errors: list[str] = []
    """NVML calls that failed with more than "not supported", such as ``memory: GPU is lost``."""


class Gpus(Struct, frozen=True, kw_only=True):
    """What NVML answers."""

    error: str | None = None
    """NVML's own words when it could not be initialised, such as ``Driver/library version mismatch``."""
    error_code: int | None = None
    """``nvmlReturn_t`` of that error; 9 is DRIVER_NOT_LOADED, 12 LIBRARY_NOT_FOUND, 18 LIB_RM_VERSION_MISMATCH."""
    driver_version: str | None = None
    """``nvmlSystemGetDriverVersion``, such as ``580.82.07``."""
    cuda_version: str | None = None
    """The newest CUDA that the driver supports (``nvmlSystemGetCudaDriverVersion_v2``), such as ``13.0``."""
    devices: list[Gpu] = []
