"""The banner with which Unsloth begins: torch with its build, and the first of its devices."""

import re
from collections.abc import Iterable

from msgspec import Struct

from gpudoctor.facts import Torch, TorchDevice
from gpudoctor.importers.collect_env_torch import LOCAL

# What it calls CUDA is the device's compute capability; what it calls the toolkit is torch's CUDA.
_TORCH = re.compile(
    r"(?:Pyt|T)orch: (?P<version>\d\.\d{1,2}\.\d{1,2}[\w.+]{0,40}?)\. CUDA(?: =|:) (?P<capability>\d{1,2}\.\d)\. "
    r"CUDA Toolkit(?: =|:) (?P<cuda>\d{1,2}\.\d{1,2})\b"
)
_DEVICE = re.compile(
    r"(?:GPU: |\|\s{1,8})(?P<name>[A-Z][\w ()-]{2,60}?)\. (?:Num GPUs = (?P<count>\d{1,3})\. )?Max memory: \d"
)
_BANNER = 5
"""Lines between the device and torch, at most: they are the two halves of one picture."""


def read(lines: Iterable[str]) -> dict[str, Struct | str | None] | None:
    """Read torch and its first device, by topic; ``None`` where there is no such banner.

    ``|    NVIDIA L4. Num GPUs = 2. Max memory: 22.0 GB.`` … ``Torch: 2.6.0+cu124. CUDA: 8.9. CUDA Toolkit: 12.4.``
    """
    device: re.Match[str] | None = None
    since = 0
    for line in lines:
        since += 1
        if "Max memory: " in line[:300] and (match := _DEVICE.search(line[:300])):
            device, since = match, 0
        elif device is not None and since < _BANNER and "CUDA Toolkit" in line[:300]:
            if torch := _TORCH.search(line[:300]):
                return {"torch": _torch(torch, device)}
    return None


def _torch(torch: re.Match[str], device: re.Match[str]) -> Torch:
    local = LOCAL.search(torch["version"])
    return Torch(
        imported=True,
        version=torch["version"],
        cuda=None if local and local["hip"] else torch["cuda"],
        hip=local["hip"] if local else None,
        cuda_available=True,
        device_count=int(device["count"]) if device["count"] else None,
        devices=[TorchDevice(ordinal=0, name=device["name"], capability=torch["capability"])],
    )
