"""The patient's torch."""

from msgspec import Struct


class Raised(Struct, frozen=True, kw_only=True):
    """An exception, as text."""

    type: str
    """Its class, such as ``ImportError``."""
    message: str
    traceback: str = ""
    """The last part of the formatted traceback."""


class Shadow(Struct, frozen=True, kw_only=True):
    """A file in the working folder or on PYTHONPATH with the name of a module that torch may need."""

    module: str
    path: str
    loaded: bool | None = None
    """``import torch`` imported it in the place of the real one; ``None``: the import did not come back."""


class TorchDevice(Struct, frozen=True, kw_only=True):
    """One CUDA device as torch sees it: after CUDA_VISIBLE_DEVICES, in torch's order."""

    ordinal: int
    name: str
    capability: str = ""
    """Compute capability, such as ``9.0``."""
    memory_bytes: int | None = None
    multiprocessors: int | None = None


class Torch(Struct, frozen=True, kw_only=True):
    """What ``import torch`` gives under the patient, and how far it got."""

    file: str | None = None
    """The file that ``import torch`` would load (``importlib.util.find_spec``); ``None``: there is no torch."""
    imported: bool | None = None
    """Whether ``import torch`` came back; ``None``: it never did, see `interrupted`."""
    named: bool = False
    """A text names this torch, in a list of packages say, and does not show that it was ever imported."""
    error: Raised | None = None
    """What ``import torch`` raised."""
    interrupted: str | None = None
    """How the asking process ended when it did not finish (``killed by SIGSEGV``, ``no answer in 60 s``)."""
    stage: str = ""
    """The last thing that was begun; when `interrupted`, the thing that it died of."""
    warnings: list[str] = []
    """Warnings raised by ``import torch`` and by ``torch.cuda.is_available()``."""
    version: str | None = None
    """``torch.__version__``."""
    git_version: str | None = None
    debug_build: bool | None = None
    cuda: str | None = None
    """``torch.version.cuda``; ``None`` in a build without CUDA."""
    hip: str | None = None
    """``torch.version.hip``; set in a build for AMD GPUs."""
    xla: bool = False
    """torch_xla is installed beside it: a TPU machine, where a torch without CUDA is right."""
    cudnn: str | None = None
    """Version of cuDNN that torch loads, such as ``9.10.2``."""
    nccl: str | None = None
    """Version of NCCL that torch was built with, such as ``2.27.5``."""
    nccl_available: bool | None = None
    """``torch.distributed.is_nccl_available()``."""
    gloo_available: bool | None = None
    mpi_available: bool | None = None
    distributed_available: bool | None = None
    """``torch.distributed.is_available()``."""
    arch_list: list[str] = []
    """``torch.cuda.get_arch_list()``, such as ``sm_90`` and ``compute_90``; empty where CUDA is not usable."""
    cuda_available: bool | None = None
    """``torch.cuda.is_available()``."""
    cuda_error: Raised | None = None
    """What ``torch.cuda.init()`` raised when CUDA was built in and not available."""
    device_count: int | None = None
    """``torch.cuda.device_count()``."""
    devices: list[TorchDevice] = []
    threads: int | None = None
    """``torch.get_num_threads()``."""
    shadows: list[Shadow] = []
    libraries: list[str] | None = None
    """Files of CUDA's libraries, NCCL, cuDNN and OpenMP that ``import torch`` mapped (``/proc/self/maps``)."""
    linkable: dict[str, str] = {}
    """CUDA's libraries in the folders of LD_LIBRARY_PATH that torch did not map, by path: the file that each one is."""
    seconds: float | None = None
    """How long ``import torch`` took."""
