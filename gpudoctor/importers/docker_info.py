"""``docker info`` -> the machine on which the engine runs; ``docker inspect`` -> the shared memory of a container."""

import re
from collections.abc import Iterable
from typing import Any

from gpudoctor.facts import Host
from gpudoctor.importers.host_commands import size

_FIELD = re.compile(
    r"(?P<name>Kernel Version|Operating System|OSType|Architecture|CPUs|Total Memory): (?P<value>\S.{0,120})$"
)
# docker inspect: "ShmSize": 67108864, which the host's own memory takes the place of with "IpcMode": "host"
_SHM_SIZE = re.compile(r"\"ShmSize\": ?(?P<bytes>\d{1,15}),?$")
_IPC_HOST = re.compile(r"\"IpcMode\": ?\"host\"")
_BEGINS = ("Server Version: ", "Storage Driver: ")


def read(lines: Iterable[str]) -> Host | None:
    """Read the fields below those that only the engine prints; ``None`` where there are none.

    ``Server Version: 24.0.7`` … ``Kernel Version: 5.15.0-91-generic`` … ``CPUs: 64`` … ``Total Memory: 503.5GiB``
    """
    fields: dict[str, str] = {}
    inside = host_ipc = False
    shm = ""
    for line in lines:
        if line.startswith('"'):
            match = _SHM_SIZE.match(line[:60])
            shm, host_ipc = (
                shm or (match["bytes"] if match else ""),
                host_ipc or bool(_IPC_HOST.match(line[:60])),
            )
        elif line.startswith(_BEGINS):
            inside = True
        elif inside and line[:1] in "KOACT" and (match := _FIELD.match(line[:160])):
            fields.setdefault(match["name"], match["value"].strip())
    if shm and not host_ipc and int(shm):
        return Host(container="docker", shm_bytes=int(shm))
    if not fields:
        return Host(container="docker") if host_ipc else None
    known: dict[str, Any] = {
        "os": fields.get("Operating System", ""),
        "kernel": fields.get("Kernel Version", ""),
    }
    if fields.get("OSType") == "linux":
        known["system"] = "Linux"
    if fields.get("Architecture") in ("x86_64", "aarch64", "ppc64le"):
        known["machine"] = fields["Architecture"]
    if re.fullmatch(r"[0-9]{1,5}", cpus := fields.get("CPUs", "")):
        known["cpus"] = int(cpus)
    return Host(memory_bytes=size(fields.get("Total Memory", "")), **known)
