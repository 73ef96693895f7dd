"""``df``, ``free``, ``ulimit -a``, ``uname -a``, ``lscpu`` and ``scontrol show node`` -> the machine."""

import re
from collections.abc import Iterable
from typing import Any

from gpudoctor.facts import Host, Limit

_SIZE = re.compile(r"(?P<number>\d{1,15}(?:\.\d{1,3})?)(?P<unit>[KMGTP]?)(?:i?B?)$")
_SIGNS = frozenset("KNVors")
"""Letters with which a line begins that a container has."""
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40, "P": 1 << 50}
_DF = re.compile(r"(?:\S{1,200})\s+(?P<size>\S{1,16})\s+\S{1,16}\s+(?P<free>\S{1,16})\s+\d{1,3}%\s+/dev/shm$")
_ULIMIT = re.compile(
    r"(?:(?P<bash>[a-z][a-z ]{3,30}?)\s+\((?P<unit>[^,()]{0,20}?)(?:, )?-(?P<letter>[lnu])\)"
    r"|-(?P<zsh>[lnu]): [a-z -]{3,40}(?:\([a-z]+\))?)\s+(?P<value>\d{1,20}|unlimited)$"
)
_LIMITS = {"l": ("memlock", 1024), "n": ("nofile", 1), "u": ("nproc", 1)}
_UNAME = re.compile(
    r"Linux \S{1,255} (?P<kernel>\d\.\d{1,3}\S{0,80}) #.{5,160}? (?P<machine>x86_64|aarch64|ppc64le)(?: |$)"
)
# What a container engine mounts, and what its prompt and NVIDIA's and vLLM's images show.
_CONTAINER = re.compile(
    r"overlay\s.{5,80}\s/$|shm\s.{5,80}\s/dev/shm$|root@(?:[0-9a-f]{12}|[\w.-]{1,63}:/workspace)|NVIDIA_REQUIRE_CUDA=|VLLM_USAGE_SOURCE=production-docker"
)
# The journal of the machine, where the engine writes down what a container prints.
_JOURNAL = re.compile(r" (?:docker|dockerd)\[\d{1,8}\]: .*Failed to initialize NVML")
# What NVIDIA's images print at the start of a container.
_BANNER = re.compile(r"NOTE: The SHMEM allocation limit is set to the default of (?P<size>\d{1,4}[KMG])i?B\b")
# of a service in a compose file
_COMPOSED = re.compile(r"shm_size: ['\"]?(?P<size>\d{1,6}(?:\.\d{1,3})?[kmgKMG])(?:i?[bB])?['\"]?$")
# mount: "shm on /dev/shm type tmpfs (rw,nosuid,nodev,noexec,relatime,size=65536k)"
_MOUNTED = re.compile(
    r"\S{1,60} on /dev/shm type tmpfs \((?:[^()]{0,200},)?size=(?P<size>\d{1,12})(?P<unit>[kmg])"
)
_KUBERNETES = "KUBERNETES_SERVICE_HOST="
_NODE = re.compile(r"\b(?P<name>CPUTot|RealMemory|Arch)=(?P<value>[\w.]{1,40})")
_LSCPU = re.compile(
    r"(?P<name>Architecture|CPU\(s\)|Model name):\s{2,40}(?P<value>x86_64|aarch64|ppc64le|\d{1,5}$|\S.{2,100}$)"
)
_OF_LSCPU = {"Architecture": "machine", "CPU(s)": "cpus", "Model name": "cpu_model"}
_NODE_OS = re.compile(r"OS=Linux (?P<kernel>\d\.\d{1,3}\S{0,80})(?: |$)")


def read(lines: Iterable[str]) -> Host | None:
    """Read what the lines say of the machine; ``None`` where they say nothing.

    ``shm   64M  1.2M   63M   2% /dev/shm``, ``Mem:  503Gi …``, ``max locked memory  (kbytes, -l) 64``
    """
    found: dict[str, Any] = {}
    limits: dict[str, Limit] = {}
    header: list[str] = []
    node = False
    for line in lines:
        if line[:1] in _SIGNS and (engine := _engine(line)):
            found["container"] = engine if found.get("container") != "kubernetes" else "kubernetes"
        elif "NVML" in line and _JOURNAL.search(line[:400]):
            found.setdefault("container", "docker")
        if "SHMEM" in line and (match := _BANNER.match(line[:200])):
            found.setdefault("container", "docker")
            found.setdefault("shm_bytes", size(match["size"]))
        elif line.startswith("shm_size:") and (match := _COMPOSED.match(line[:60])):
            found.setdefault("container", "docker")
            found.setdefault("shm_bytes", size(match["size"].upper()))
        if line.endswith("/dev/shm") and "shm_bytes" not in found:
            found |= _shm(line)
        elif (
            " on /dev/shm " in line[:80]
            and "shm_bytes" not in found
            and (match := _MOUNTED.match(line[:300]))
        ):
            found["shm_bytes"] = size(match["size"] + match["unit"].upper())
        elif line.startswith("total ") and "used" in line:
            header = line.split()
        elif line.startswith("Mem:") and header and "memory_bytes" not in found:
            found |= _memory(header, line.split()[1:])
        elif (line.endswith(tuple("0123456789d")) and "-" in line) and (match := _ULIMIT.match(line[:200])):
            name, factor = _LIMITS[match["letter"] or match["zsh"]]
            soft = None if match["value"] == "unlimited" else int(match["value"]) * factor
            # What ulimit -a shows is the soft limit; the hard one is at least that.
            limits.setdefault(name, Limit(soft=soft, hard=soft))
        elif line.startswith("Linux ") and "kernel" not in found and (match := _UNAME.match(line[:600])):
            found |= {"system": "Linux", **match.groupdict()}
        elif line[:1] in "ACM" and (match := _LSCPU.match(line[:200])):
            value = match["value"]
            if (match["name"] == "CPU(s)") == value.isdecimal():
                found.setdefault(_OF_LSCPU[match["name"]], int(value) if value.isdecimal() else value)
        elif line.startswith("NodeName="):
            node = "node" not in found  # of several nodes the first
            found["node"] = True
            _node(found, line)
        elif node and "=" in line:
            _node(found, line)
        elif node and not line:
            node = False
    found.pop("node", None)
    return Host(**found, limits=limits) if found or limits else None


def _engine(line: str) -> str | None:
    if line.startswith(_KUBERNETES):
        return "kubernetes"
    return "docker" if _CONTAINER.match(line[:200]) else None


def size(text: str) -> int | None:
    """Return ``64M`` or ``503Gi`` in bytes; ``None`` for a number without a unit, which may be of any."""
    match = _SIZE.match(text)
    if match is None or not match["unit"]:
        return 0 if text in ("0", "0B") else None
    return int(float(match["number"]) * _UNITS[match["unit"]])


def _shm(line: str) -> dict[str, int]:
    match = _DF.match(line[:400])
    if match is None or (whole := size(match["size"])) is None:
        # Without -h df counts in blocks of 1 KiB.
        if match is None or not (match["size"].isdecimal() and match["free"].isdecimal()):
            return {}
        return {"shm_bytes": int(match["size"]) << 10, "shm_free_bytes": int(match["free"]) << 10}
    free = size(match["free"])
    return {"shm_bytes": whole} | ({"shm_free_bytes": free} if free is not None else {})


def _memory(header: list[str], words: list[str]) -> dict[str, int]:
    """Read ``free -h``; its plain numbers may be of any unit, and are left alone."""
    values = dict(zip(header, words, strict=False))
    names = {"memory_bytes": "total", "memory_available_bytes": "available"}
    found = {name: size(values.get(key, "")) for name, key in names.items()}
    return {name: bytes_ for name, bytes_ in found.items() if bytes_}


def _node(found: dict[str, Any], line: str) -> None:
    """Read Slurm's ``CPUTot=128``, ``RealMemory=1031518`` (MiB) and ``OS=Linux 4.18.0-…``."""
    for match in _NODE.finditer(line[:2000]):
        name, value = match["name"], match["value"]
        if name == "Arch":
            found.setdefault("machine", value)
        elif value.isascii() and value.isdecimal() and len(value) < 12:
            key, factor = ("cpus", 1) if name == "CPUTot" else ("memory_bytes", 1 << 20)
            found.setdefault(key, int(value) * factor)
    if system := _NODE_OS.search(line[:2000]):
        found.setdefault("kernel", system["kernel"])
        found.setdefault("system", "Linux")
