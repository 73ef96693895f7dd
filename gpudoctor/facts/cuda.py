"""What the CUDA driver library (``libcuda.so.1``) itself answers, without torch."""

from msgspec import Struct


class CudaDevice(Struct, frozen=True, kw_only=True):
    """One device as the CUDA driver counts it; a MIG instance is one."""

    ordinal: int
    name: str = ""
    pci_address: str = ""
    """``cuDeviceGetPCIBusId``, written as the kernel does: ``0000:3b:00.0``."""
    capability: str = ""
    """Compute capability, such as ``9.0``."""
    memory_bytes: int | None = None
    error: int | None = None
    """``CUresult`` of the first of its calls that failed."""


class Cuda(Struct, frozen=True, kw_only=True):
    """The driver library as a training of this patient would find it, asked in a process of its own.

    `init` to `devices` are told with CUDA_VISIBLE_DEVICES taken away: what CUDA counts on this machine. It leaves
    out a GPU that it cannot start, where NVML and with it ``torch.cuda.device_count()`` still count it.
    """

    library: str | None = None
    """The file that was loaded as ``libcuda.so.1`` (``/proc/self/maps``); ``None``: none could be, see `error`."""
    error: str | None = None
    """The loader's words, where the library could not be loaded."""
    init: int | None = None
    """``CUresult`` of ``cuInit``: 0 is success; ``None``: it was not asked, or did not come back."""
    version: str | None = None
    """The newest CUDA that this library supports (``cuDriverGetVersion``), such as ``13.0``."""
    count: int | None = None
    """``cuDeviceGetCount``."""
    devices: list[CudaDevice] = []
    visible_init: int | None = None
    """``cuInit`` with CUDA_VISIBLE_DEVICES as it is set; ``None``: it is not set, or was not asked."""
    visible: list[CudaDevice] | None = None
    """The devices with CUDA_VISIBLE_DEVICES as it is set, in CUDA's order; ``None``: it is not set, or not known."""
    stage: str = ""
    """The last call that was begun; where `interrupted`, the one that did not come back."""
    interrupted: str | None = None
    """How the asking process ended when it did not finish (``no answer in 10 s``, ``killed by SIGSEGV``)."""
