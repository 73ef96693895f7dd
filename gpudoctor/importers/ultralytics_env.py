"""The line with which YOLO's programs begin: Python, torch with its build, and the devices that it trains on."""

import re
from collections.abc import Iterable

from msgspec import Struct

from gpudoctor.facts import Gpu, Gpus, Torch, TorchDevice
from gpudoctor.importers.collect_env_torch import built_for

_HEAD = re.compile(
    r"(?:Ultralytics|YOLOv?\w{1,6}).{0,80}?\bPython-\d\.\d{1,2}[.\w]{0,12} "
    r"torch-(?P<version>\d\.\d{1,2}\.\d{1,2}[\w.]{0,20}"
    r"(?:\+(?:(?P<cpu>cpu)|cu(?P<cuda>\d{2,3})))?)(?= |$)"
)
_DEVICE = re.compile(
    r"\bCUDA:(?P<ordinal>\d{1,2}) \((?P<name>[^,()]{3,60}), (?P<memory>\d{3,7})(?:\.\d{1,6})?(?:MiB|MB)\)"
)
_BELOW = 16
"""Lines on which further devices stand: a node has no more."""
_HEADS = 100


def read(lines: list[str]) -> dict[str, Struct | str | None] | None:
    """Read torch and its devices, by topic; ``None`` where there is no such line, or it tells neither.

    ``Ultralytics YOLOv8.2.48 🚀 Python-3.10.12 torch-2.1.2+cu121 CUDA:0 (Tesla T4, 15102MiB)``

    Of several lines the first tells, but for one with a CPU build below it: the GPUs of the first one are there.
    """
    heads: list[re.Match[str]] = []
    devices: dict[int, tuple[str, int]] = {}
    for number, line in enumerate(lines):
        if " torch-" in line[:200] and (head := _HEAD.search(line[:300])) is not None and len(heads) < _HEADS:
            heads.append(head)
            devices = devices or _devices([line, *lines[number + 1 : number + _BELOW]])
    if not heads:
        return None
    last = heads[-1] if heads[-1]["cpu"] else heads[0]
    if last["cuda"] or last["cpu"]:
        return _facts(last, devices)
    gpus = _facts(last, devices)["gpus"]
    return {"torch": "the text does not say for which CUDA torch was built", "gpus": gpus} if gpus else None


def _devices(lines: Iterable[str]) -> dict[int, tuple[str, int]]:
    found: dict[int, tuple[str, int]] = {}
    for number, line in enumerate(filter(None, lines)):
        match = _DEVICE.search(line[:400])
        if match is None or (number and not line.startswith("CUDA:")):
            if number:
                break
            continue
        found.setdefault(int(match["ordinal"]), (match["name"].strip(), int(match["memory"]) << 20))
    return found


def _facts(head: re.Match[str], devices: dict[int, tuple[str, int]]) -> dict[str, Struct | str | None]:
    cards = sorted(devices.items())
    used = [] if head["cpu"] else cards
    return {
        "torch": Torch(
            imported=True,
            version=head["version"],
            cuda=built_for(head),
            cuda_available=True if used else None,
            devices=[TorchDevice(ordinal=n, name=name, memory_bytes=size) for n, (name, size) in used],
        ),
        # Those that it was told to use, by torch's numbers.
        "gpus": Gpus(devices=[Gpu(index=n, name=name, memory_bytes=size) for n, (name, size) in cards])
        if cards
        else None,
    }
