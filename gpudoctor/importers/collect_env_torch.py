"""The torch of collect_env's output: whether it was imported, its build, and what it saw of CUDA."""

import re

from gpudoctor.facts import Cuda, Gpus, Launch, Raised, Torch, TorchDevice
from gpudoctor.importers import torch_messages
from gpudoctor.importers.collect_env_block import Block
from gpudoctor.importers.collect_env_gpus import LINE, hip_build
from gpudoctor.importers.packages import Lists

VERSION = re.compile(r"v?(?P<version>\d{1,2}\.\d{1,3}[\w.+-]{0,60})")
_CUDA = re.compile(r"\d{1,2}\.\d{1,2}[\d.]{0,20}(?!\S)")
BUILD = r"\+(?:(?P<cpu>cpu)|cu(?P<cuda>\d{2,3})|rocm(?P<hip>[\d.]{1,20}))"
"""What stands behind torch's version and says for what it was built."""
LOCAL = re.compile(BUILD)
# The packages whose version is that of the CUDA that torch was built for.
_RUNTIMES = re.compile(r"nvidia-cuda-runtime(?:-cu\d{2})?|pytorch-cuda|cudatoolkit")
_PLAIN_VERSION = re.compile(r"\d{1,3}\.\d{1,3}(?:\.\d{1,5}){0,2}")
_AMD_ARCHITECTURE = re.compile(r" ?\((gfx[\w:+-]{1,60})\)$")


def built_for(local: re.Match[str]) -> str | None:
    """Return the CUDA version that a torch's build names, such as 12.1 for cu121; ``None`` where it names none."""
    cuda = local["cuda"]
    return f"{cuda[:-1]}.{cuda[-1]}" if cuda else None


def torch_version(block: Block) -> str | None:
    """Read ``PyTorch version: 2.5.1+cu124``; ``None`` where torch was not imported or the line is cut off."""
    match = VERSION.match(block.said("pytorch version") or "")
    return match["version"] if match else None


def read_torch(
    block: Block, rows: list[str], lists: Lists, gpus: Gpus | str | None, launch: Launch | None
) -> Torch | str:
    """Read the torch fields; a text says why there are no facts.

    ``CUDA used to build PyTorch: None`` is a build without CUDA. Where that line is cut off and nothing else
    names the build there are no facts: a torch of unknown build must not pass for one without CUDA. `rows` are those of
    the whole text, where an error may stand beside the block.
    """
    version = torch_version(block)
    if version is None:
        return _not_imported(block, rows, lists)
    build = _build(block, version, lists)
    if build is None:
        return "the text does not say for which CUDA torch was built"
    warnings = torch_messages.warnings(block.lines)
    available = block.truth("is cuda available")
    capabilities = torch_messages.capabilities(warnings)
    devices = _devices(block, gpus, launch, capabilities) if available else []
    if available is None and not devices:
        devices = [
            TorchDevice(ordinal=n, name=name, capability=told)
            for n, (name, told) in enumerate(capabilities.items())
        ]
    return Torch(
        imported=True,
        version=version,
        debug_build=block.truth("is debug build"),
        cuda=build[0],
        hip=build[1],
        xla=any(d.name.replace("_", "-") == "torch-xla" for d in lists.pip + lists.conda),
        cudnn=_plain(block, "cudnn version"),
        nccl=_plain(block, "nccl version"),
        warnings=warnings,
        arch_list=torch_messages.architectures(warnings),
        cuda_available=available,
        cuda_error=torch_messages.init_error(rows) if available is False and build[0] else None,
        device_count=_device_count(gpus, launch, devices) if available else None,
        devices=devices,
    )


def read_cuda(torch: Torch | str) -> Cuda | None:
    """Return what the driver answered where CUDA is not available and torch says why."""
    if isinstance(torch, str) or torch.cuda is None or torch.cuda_available is not False:
        return None
    return torch_messages.cuda([*torch.warnings, *([torch.cuda_error.message] if torch.cuda_error else [])])


def _not_imported(block: Block, rows: list[str], lists: Lists) -> Torch | str:
    """Tell a torch that is missing from one that is broken: ``PyTorch version: N/A`` stands for both.

    collect_env catches the ImportError of a broken torch and does not print it; pip still lists such a torch.
    """
    caught = torch_messages.import_error(block.lines)
    value = block.values.get("pytorch version", "").lower()
    if caught is not None and value in ("", "n/a"):
        return Torch(imported=False, error=caught[0], file=caught[1])
    if value != "n/a":
        return "PyTorch's version is not in the text"
    if (library := torch_messages.broken_library(rows)) is not None:
        return Torch(imported=False, error=library, file="torch/__init__.py")
    listed = lists.pip if lists.pip_answered else lists.conda
    own = next((d.version for d in listed if d.name == "torch"), None)
    if own is not None and not _another_pythons(block, own):
        # Where its file lies the text does not say, only that there is one.
        error = Raised(type="ImportError", message="collect_env could not import torch, and does not say why")
        return Torch(imported=False, error=error, file="torch/__init__.py")
    return Torch(imported=False, error=Raised(type="ModuleNotFoundError", message="No module named 'torch'"))


def _another_pythons(block: Block, version: str) -> bool:
    """Return whether a torch of pip3's list cannot be that of the Python which ran: 1.4 was the last for Python 2."""
    number = re.match(r"(\d+)\.(\d+)", version)
    ran = block.values.get("python version", "").startswith("2.")
    return ran and number is not None and (int(number[1]), int(number[2])) > (1, 4)


def _build(block: Block, version: str, lists: Lists) -> tuple[str | None, str | None] | None:
    """Return the CUDA and the HIP that torch was built for; ``None`` where that is not known."""
    said = block.values.get("cuda used to build pytorch", "")
    if hip := hip_build(block):
        return None, hip
    if match := _CUDA.match(said):
        return match[0], None
    local = LOCAL.search(version)
    if local and local["hip"]:
        return None, local["hip"]
    if block.denied("cuda used to build pytorch") or (local and local["cpu"]):
        return None, None
    if local and local["cuda"]:
        return built_for(local), None
    runtime = next((d for d in lists.pip + lists.conda if _RUNTIMES.fullmatch(d.name)), None)
    return (".".join(runtime.version.split(".")[:2]), None) if runtime else None


def _plain(block: Block, key: str) -> str | None:
    """Read a version as gpudoctor's own block gives it; collect_env itself lists files of cuDNN."""
    value = block.values.get(key, "")
    return value if _PLAIN_VERSION.fullmatch(value) else None


def _devices(
    block: Block, gpus: Gpus | str | None, launch: Launch | None, capabilities: dict[str, str]
) -> list[TorchDevice]:
    """Name the devices that torch saw, as far as the list of all GPUs and CUDA_VISIBLE_DEVICES tell them."""
    if not isinstance(gpus, Gpus):
        name = _AMD_ARCHITECTURE.sub("", block.said(LINE) or "") if hip_build(block) else ""
        return [TorchDevice(ordinal=0, name=name)] if name else []
    if any(gpu.mig for gpu in gpus.devices):
        return []
    names = [gpu.name for gpu in gpus.devices]
    visible = launch.variables.get("CUDA_VISIBLE_DEVICES") if launch else None
    if visible is not None:
        ordered = launch is not None and launch.variables.get("CUDA_DEVICE_ORDER") == "PCI_BUS_ID"
        chosen = _indices(visible, len(names))
        if chosen is None or (len(set(names)) > 1 and not ordered):
            return []
        names = [names[index] for index in chosen]
    return [
        TorchDevice(ordinal=ordinal, name=name, capability=capabilities.get(name, ""))
        for ordinal, name in enumerate(names)
    ]


def _indices(visible: str, count: int) -> list[int] | None:
    """Read ``0,2``; CUDA ignores what follows the first index that is none. ``None`` for UUIDs."""
    indices: list[int] = []
    for part in map(str.strip, visible.split(",")[:256]):
        if part[:1].isalpha():
            return None
        if not (part.isascii() and part.isdecimal()) or int(part[:6]) >= count:
            break
        indices.append(int(part[:6]))
    return indices


def _device_count(gpus: Gpus | str | None, launch: Launch | None, devices: list[TorchDevice]) -> int | None:
    """Return how many devices torch saw, where the text tells: one GPU, or CUDA_VISIBLE_DEVICES."""
    visible = launch.variables.get("CUDA_VISIBLE_DEVICES", "") if launch else ""
    if visible.startswith("MIG-"):
        return 1  # CUDA uses one instance, however many are named
    if devices and isinstance(gpus, Gpus) and (visible or len(gpus.devices) == 1):
        return len(devices)
    return None
