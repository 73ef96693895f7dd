"""Lightning's ``collect_env_details.py``, 2020 to today: sections of ``key: value`` lines, the GPUs by name.

It names a CUDA version where torch was built for one, and ``None`` where torch was built for the CPU.
"""

import re
from collections.abc import Iterable

from msgspec import Struct

from gpudoctor.facts import Gpu, Gpus, Python, Torch, TorchDevice, Torchvision

_MARK = re.compile(r"[*-]{1,2}\s+")
_CUDA = re.compile(r"\d{1,2}\.\d{1,2}(?:\.\d{1,3})?")
_VERSION = re.compile(r"\d{1,2}\.\d{1,3}[\w.+-]{0,60}")
_TORCH = frozenset({"torch", "pytorch_version"})
_MOST = 64


def read(lines: Iterable[str]) -> dict[str, Struct | str | None] | None:
    """Read the section about CUDA and the versions below it, by topic; ``None`` where there is no such section.

    ``* CUDA:`` ``- GPU:`` ``- Tesla M60`` ``- available: True`` ``- version: 10.2`` … ``- torch: 1.12.1``
    """
    names: list[str] = []
    said: dict[str, str] = {}
    part = ""
    for line in lines:
        row = _MARK.sub("", line)
        key, colon, value = row[:200].partition(":")
        key, value = key.strip().lower(), value.strip()
        if key == "cuda" and colon and not value and "version" not in said:
            part, names, said = "cuda", [], {}
        elif part in ("cuda", "gpu") and key in ("available", "version") and value:
            part, said[key] = "cuda", value
        elif part == "cuda" and key == "gpu":
            part = "gpu"
            names += [name.strip() for name in value.split(",") if name.strip() and value != "None"]
        elif part == "gpu" and row and not colon and len(names) < _MOST:
            names.append(row.strip()[:80])
        elif "version" in said and colon and value:
            part = ""
            said.setdefault("torch" if key in _TORCH else key, value)
    return _facts(names, said) if {"available", "version"} <= said.keys() else None


def _facts(names: list[str], said: dict[str, str]) -> dict[str, Struct | str | None] | None:
    available = {"true": True, "false": False}.get(said["available"].lower())
    built = _CUDA.match(said["version"])
    if available is None or (built is None and said["version"] != "None"):
        return None
    version, python = _VERSION.match(said.get("torch", "")), _VERSION.match(said.get("python", ""))
    vision = _VERSION.match(said.get("torchvision", ""))
    torch = Torch(
        imported=True,
        version=version[0] if version else "",
        cuda=built[0] if built else None,
        cuda_available=available,
        devices=[TorchDevice(ordinal=n, name=name) for n, name in enumerate(names)] if available else [],
        device_count=len(names) if available and names else None,
    )
    return {
        "torch": torch,
        "torchvision": Torchvision(version=vision[0], torch_version=version[0] if version else None)
        if vision
        else None,
        # In torch's order, which is not the driver's: their names are what is known.
        "gpus": Gpus(devices=[Gpu(index=n, name=name) for n, name in enumerate(names)]) if names else None,
        "python": Python(version=python[0], chosen="it printed the environment") if python else None,
    }
