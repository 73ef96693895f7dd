"""The log of kohya's trainers and of what is built on them: which torch, and every GPU that it sees."""

import re
from collections.abc import Iterable

from msgspec import Struct

from gpudoctor.facts import Gpu, Gpus, Torch, TorchDevice
from gpudoctor.importers.collect_env_torch import BUILD, built_for

# "16:15:30-503117 INFO     " of its logger
_LOGGED = re.compile(r"\d\d:\d\d:\d\d-\d{6} [A-Z]{4,8}\s{1,8}")
_VERSION = re.compile(rf"Torch (?P<version>\d\.\d{{1,2}}\.\d{{1,2}}[\w.]{{0,20}}{BUILD})$")
_DEVICE = re.compile(
    r"Torch detected GPU: (?P<name>\S.{2,60}?) VRAM (?P<memory>\d{3,7})(?:MB)? "
    r"Arch \(?(?P<major>\d{1,2})(?:, |\.)(?P<minor>\d)\)? Cores \d{1,4}$"
)
_MOST = 64


def read(lines: Iterable[str]) -> dict[str, Struct | str | None] | None:
    """Read torch and its devices, by topic; ``None`` where no device is named.

    ``Torch 2.4.1+cu124`` … ``Torch detected GPU: NVIDIA L4 VRAM 22491 Arch (8, 9) Cores 58``, a line for each
    """
    version: re.Match[str] | None = None
    devices: list[TorchDevice] = []
    for line in lines:
        if "Torch " not in line[:60]:
            continue
        row = _LOGGED.sub("", line[:200], count=1)
        version = version or _VERSION.match(row)
        if (match := _DEVICE.match(row)) and len(devices) < _MOST:
            devices.append(
                TorchDevice(
                    ordinal=len(devices),
                    name=match["name"],
                    capability=f"{match['major']}.{match['minor']}",
                    memory_bytes=int(match["memory"]) << 20,
                )
            )
    if not devices or version is None or not version["cuda"]:
        return None
    return {
        "torch": Torch(
            imported=True,
            version=version["version"],
            cuda=built_for(version),
            cuda_available=True,
            device_count=len(devices),
            devices=devices,
        ),
        "gpus": Gpus(
            devices=[Gpu(index=d.ordinal, name=d.name, memory_bytes=d.memory_bytes) for d in devices]
        ),
    }
