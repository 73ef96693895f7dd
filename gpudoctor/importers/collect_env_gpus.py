"""The GPUs and the driver of collect_env's output, which it has from ``nvidia-smi``."""

import re

from gpudoctor.facts import Cuda, Driver, Gpu, Gpus
from gpudoctor.importers import nvidia_smi
from gpudoctor.importers.collect_env_block import Block
from gpudoctor.importers.nvidia_smi import Refusal, Table

NOT_LOADED, MISMATCH, UNKNOWN = 9, 18, 999  # nvmlReturn_t
LINE = "gpu models and configuration"
_VERSION = re.compile(r"\d{2,4}\.\d{1,4}(?:\.\d{1,4})?(?!\S)")


def hip_build(block: Block) -> str | None:
    """Return the HIP version of a torch for AMD GPUs: ``ROCM used to build PyTorch: 6.3.42131-fa1d09cbd``."""
    for key in ("hip used to build pytorch", "rocm used to build pytorch"):
        value = block.said(key) or ""
        if value[:1].isdecimal():
            return value
    return None


def read_gpus(block: Block, table: Table, refusal: Refusal) -> Gpus | str | None:
    """Read ``GPU 0: Tesla T4`` lines; a text says why there are no facts.

    ``Could not collect`` means that nvidia-smi is missing or failed. Where CUDA works all the same (a
    container without the tool), nothing is known of the GPUs; where it does not, that is the error. A CUDA
    toolkit beside it (``CUDA runtime version``) is a sign that GPUs were meant to be there.
    """
    if hip_build(block):
        return "torch is built for AMD GPUs, and collect_env asked nvidia-smi for none"
    devices = _listed(block) or table.devices
    version = _driver_version(block, table)
    works = block.truth("is cuda available") is True
    if devices:
        return Gpus(driver_version=version, cuda_version=table.cuda_version, devices=devices)
    if refusal.error and not works:
        return Gpus(error=refusal.error, error_code=refusal.error_code, driver_version=version)
    if (refusal.no_devices or refusal.lost) and not works:
        return Gpus(driver_version=version, cuda_version=table.cuda_version)
    if LINE not in block.values and _something(block):
        return Gpus(error="the text ends before its GPUs, and a CUDA toolkit, a driver or a GPU is here")
    if not (block.denied(LINE) or _empty(block)):
        return None
    if works:
        return "nvidia-smi gave nothing where collect_env ran, although CUDA works"
    toolkit = block.said("cuda runtime version")
    hint = f", and CUDA toolkit {toolkit[:40]} is installed" if toolkit else ""
    return Gpus(error=f"nvidia-smi gave nothing{hint}", driver_version=version)


def read_driver(
    block: Block, table: Table, refusal: Refusal, gpus: Gpus | str | None, cuda: Cuda | None
) -> Driver | str | None:
    """Read ``Nvidia driver version: 535.183.01``.

    Where the text says that there is none, a version of ``None`` means no driver, unless CUDA works or GPUs
    are listed: then there is a driver, and only its version is not known.
    """
    version = _driver_version(block, table)
    if version:
        wsl = "microsoft" in block.values.get("python platform", "").lower()
        return Driver(version=version, dxg=wsl)
    if not block.denied("nvidia driver version"):
        return None
    if hip_build(block):
        return "torch is built for AMD GPUs"
    if refusal.error_code == NOT_LOADED:
        return Driver(version=None)
    seen = isinstance(gpus, Gpus) and gpus.devices
    # NVML started, though it had no GPU to give: a driver is there.
    if block.truth("is cuda available") or seen or refusal.no_devices or refusal.lost:
        return "a driver works, and collect_env could not read its version"
    if cuda is not None:
        return "a driver answered torch, and collect_env could not read its version"
    if refusal.error_code in (MISMATCH, UNKNOWN):
        return f"a driver is there, and NVML says {refusal.error}"
    return Driver(version=None)


def _something(block: Block) -> bool:
    """Return whether a build without CUDA found a toolkit, a driver or a GPU: else collect_env writes ``None``."""
    built = block.values.get("cuda used to build pytorch", "").lower()
    return built == "could not collect" and block.said("pytorch version") is not None


def _empty(block: Block) -> bool:
    """Return whether nvidia-smi listed nothing and told no version: no GPU lines that somebody cut out."""
    listed = [block.values.get(LINE), *block.after(LINE)]
    return not any(listed) and listed[0] is not None and block.denied("nvidia driver version")


def _driver_version(block: Block, table: Table) -> str | None:
    key = "nvidia driver version"
    match = _VERSION.match(block.said(key) or next((line for line in block.after(key) if line), ""))
    return match[0] if match else table.driver_version


def _listed(block: Block) -> list[Gpu]:
    """Read what ``nvidia-smi -L`` gave below the line, or anywhere where that line was cut off."""
    below = block.after(LINE) if LINE in block.values else block.lines
    devices = nvidia_smi.listed([block.values.get(LINE, ""), *below])
    return nvidia_smi.with_whole_names(devices, block.lines)
