"""The GPUs as NVIDIA's management library (NVML) sees them: all of them, whatever CUDA_VISIBLE_DEVICES says."""

import re

from msgspec import Struct

from gpudoctor.facts.gpu import Gpu
from gpudoctor.facts.pci import Pci

_LEADING = re.compile(r"\+?[0-9]{1,6}")
WAITING = ("not_started", "in_progress")


class GpuPair(Struct, frozen=True, kw_only=True):
    """How two GPUs are connected."""

    first: int
    """NVML index; the lower of the two."""
    second: int
    path: str = ""
    """As ``nvidia-smi topo -m`` has it: ``NV18`` (18 NVLinks), ``PIX``, ``PXB``, ``PHB``, ``NODE``, ``SYS``; empty: not
    known."""
    p2p: str = ""
    """``nvmlDeviceGetP2PStatus`` for reading: ``OK``, ``CNS`` (chipset not supported), ``GNS`` (GPU), ``TNS``
    (topology), ``DR`` (disabled by regkey), ``NS``; empty: not known."""
    nvlink: bool | None = None
    """An NVLink joins them, where ``nvidia-smi topo -p2p n`` alone says it; the path says more."""


NO_DRIVER = (9, 12)
"""``nvmlReturn_t`` of a machine without a driver or without its library."""


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
    confidential: bool | None = None
    """Confidential computing is on."""
    confidential_multi_gpu: str | None = None
    """``none``, ``protected_pcie`` or ``nvle`` where confidential computing is on."""
    confidential_ready: bool | None = None
    """The GPUs were set ready to take work, as attestation does, where confidential computing is on."""
    devices: list[Gpu] = []
    pairs: list[GpuPair] = []
    """Every pair of GPUs, where NVML tells how they are connected."""
    hanging: list[str] = []
    """NVML calls that had not returned when this was told, such as ``nvmlDeviceGetNvLinkState of GPU 3``."""
    interrupted: str | None = None
    """How the asking process ended when it did not finish (``killed by SIGSEGV``, ``no answer in 12 s``)."""

    @property
    def read(self) -> list[Gpu]:
        """The GPUs of which anything but failures could be read."""
        return [gpu for gpu in self.devices if gpu.name or gpu.uuid or gpu.told]

    @property
    def fabric_waits(self) -> bool:
        """Whether no GPU that has an NVLink fabric has joined it: that is the fabric manager, and not a GPU."""
        joined = [gpu for gpu in self.devices if gpu.fabric_state not in (None, "not_supported")]
        waiting = [gpu for gpu in joined if gpu.fabric_state in WAITING]
        return bool(joined) and waiting == joined and any(gpu.board or not gpu.name for gpu in joined)

    def pair(self, first: int, second: int) -> GpuPair | None:
        """Return how two GPUs are connected; ``None``: not known."""
        wanted = {first, second}
        return next((p for p in self.pairs if {p.first, p.second} == wanted), None)

    def silence(self, pci: Pci | None) -> str:
        """Return why nothing is known of any GPU; empty: GPUs were read, or the PCI bus shows that there is none."""
        if self.read:
            return ""
        if self.error_code in NO_DRIVER and pci is not None and not pci.gpus:
            return ""
        if self.error is not None:
            return f"NVML: {self.error}"
        return "NVML gives no GPU that this process may read" if self.devices else ""

    def named(self, some: list[Gpu]) -> str:
        """Return which GPUs these are, in words: one with its PCI address, several by number, or all of them."""
        if len(some) == 1:
            return some[0].place
        if len(some) == len(self.devices):
            return f"all {len(some)} GPUs"
        return f"GPUs {self.numbers(some)}"

    def numbers(self, some: list[Gpu]) -> str:
        """Return the numbers of GPUs as nvidia-smi takes them: ``0,3``."""
        return ",".join((gpu.pci_address or "NUMBER") if gpu.unnumbered else str(gpu.index) for gpu in some)

    def without(self, some: list[Gpu]) -> str:
        """Return the numbers of the others that can be read, as CUDA_VISIBLE_DEVICES takes them."""
        left_out = {gpu.index for gpu in some}
        return self.numbers([gpu for gpu in self.read if gpu.index not in left_out and not gpu.gone])

    def chosen(self, visible: str | None) -> list[Gpu]:
        """Return the GPUs that a value of CUDA_VISIBLE_DEVICES names, in its order; all of them without one.

        CUDA reads an index as strtoul does, ``0 1`` as 0, and shows none where one is named twice.
        """
        if visible is None or "MIG-" in visible:
            return self.read
        entries = [entry.strip() for entry in visible.split(",")]
        found = []
        for entry in entries:
            number = _LEADING.match(entry)
            matching = [
                gpu
                for gpu in self.read
                if (number is not None and gpu.index == int(number[0]))
                or (entry.startswith("GPU-") and gpu.uuid.startswith(entry))
            ]
            if len(matching) != 1:  # CUDA stops at the first that names none
                break
            if matching[0] in found:
                return []
            found += matching
        return found
