"""ComfyUI's log and its report of an error: which torch it runs with, and on which device."""

import re
from collections.abc import Iterable

from msgspec import Struct

from gpudoctor.facts import Gpu, Gpus, Torch, TorchDevice
from gpudoctor.importers.collect_env_torch import BUILD, built_for

_VERSION = re.compile(
    r"(?:- )?pytorch version:\s*(?P<version>\d\.\d{1,2}\.\d{1,2}[\w.]{0,20}"
    rf"(?:{BUILD})?)$",
    re.IGNORECASE,
)
_DEVICE = re.compile(
    r"(?:- )?(?:Name|Device): cuda:(?P<ordinal>\d{1,2}) (?P<name>\S.{2,60}?)(?: : \w{1,40})?$"
)
_MOST = 64


def read(lines: Iterable[str]) -> dict[str, Struct | str | None] | None:
    """Read torch and its devices, by topic; ``None`` where no device is named.

    ``pytorch version: 2.7.0+cu128`` … ``Device: cuda:0 NVIDIA GeForce RTX 4090 : native``
    """
    version: re.Match[str] | None = None
    names: dict[int, str] = {}
    for line in lines:
        if version is None and "ersion" in line[:40]:
            version = _VERSION.match(line[:120])
        elif "cuda:" in line[:40] and (match := _DEVICE.match(line[:160])) and len(names) < _MOST:
            names.setdefault(int(match["ordinal"]), match["name"])
    if not names or version is None or not (version["cuda"] or version["hip"]):
        return None
    return {
        "torch": Torch(
            imported=True,
            version=version["version"],
            cuda=built_for(version),
            hip=version["hip"],
            cuda_available=True,
            devices=[TorchDevice(ordinal=ordinal, name=name) for ordinal, name in sorted(names.items())],
        ),
        # It names those that it uses, in torch's order.
        "gpus": Gpus(devices=[Gpu(index=n, name=name) for n, (_, name) in enumerate(sorted(names.items()))])
        if version["cuda"]
        else None,
    }
