"""Read where this process may run, and the NUMA nodes of the machine."""

import os
import re
from pathlib import Path

from gpudoctor.facts import Affinity, cpus_in
from gpudoctor.probes._files import text


def probe(root: Path = Path("/")) -> Affinity:
    """Read the affinity of this process, and ``/proc`` and ``/sys`` below `root`."""
    nodes = {}
    for folder in sorted((root / "sys/devices/system/node").glob("node[0-9]*")):
        if cpus := text(folder / "cpulist"):
            nodes[folder.name.removeprefix("node")] = cpus
    allowed = re.search(r"^Mems_allowed_list:\s*(\S+)", text(root / "proc/self/status"), re.MULTILINE)
    return Affinity(
        cpus=sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [],
        online=_online(root),
        memory_nodes=sorted(cpus_in(allowed[1])) if allowed else [],
        nodes=nodes,
    )


def _online(root: Path) -> list[int]:
    """Read which processors are on; two places must agree, for containers may show another machine's in one."""
    told = cpus_in(text(root / "sys/devices/system/cpu/online"))
    counted = {int(n) for n in re.findall(r"^cpu(\d+) ", text(root / "proc/stat"), re.MULTILINE)}
    return sorted(told) if told == counted else []
