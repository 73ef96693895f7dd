"""What DeepSpeed's ``ds_report`` prints: torch with its build, and the size of /dev/shm."""

import re
from collections.abc import Iterable

from msgspec import Struct

from gpudoctor.facts import Host, Torch
from gpudoctor.importers.collect_env_torch import LOCAL, VERSION, built_for
from gpudoctor.importers.host_commands import size

_ROW = re.compile(
    r"(?P<key>torch version|torch cuda version|torch hip version|shared memory \(/dev/shm\) size) "
    r"\.{2,60} (?P<value>\S.{0,60})"
)
_CUDA = re.compile(r"\d{1,2}\.\d{1,2}(?!\S)")
_SIZE = re.compile(r"(?P<number>\d{1,6}(?:\.\d{1,3})?) (?P<unit>[KMGT])B$")


def read(lines: Iterable[str]) -> dict[str, Struct | str | None] | None:
    """Read the rows that tell of torch and of the machine, by topic; ``None`` where no row names a torch.

    ``torch version .................... 2.1.0+cu118`` … ``shared memory (/dev/shm) size .... 64.00 MB``
    """
    said: dict[str, str] = {}
    for line in lines:
        if " .." in line[:60] and (match := _ROW.match(line[:200])):
            said.setdefault(match["key"], match["value"].strip())
    version = VERSION.match(said.get("torch version", ""))
    if version is None:
        return None
    built, local = _CUDA.match(said.get("torch cuda version", "")), LOCAL.search(version["version"])
    cuda = built[0] if built else built_for(local) if local else None
    hip = said.get("torch hip version", "None")
    known = cuda or hip != "None" or said.get("torch cuda version") == "None"
    shm = _SIZE.match(said.get("shared memory (/dev/shm) size", ""))
    return {
        "torch": Torch(
            imported=True, version=version["version"], cuda=cuda, hip=hip if hip != "None" else None
        )
        if known
        else "the text does not say for which CUDA torch was built",
        "host": Host(shm_bytes=size(shm["number"] + shm["unit"])) if shm else None,
    }
