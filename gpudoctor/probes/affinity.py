"""Read where this process may run, and the NUMA nodes of the machine."""

import os
import re
from pathlib import Path

from gpudoctor.facts import Affinity, cpus_in
from gpudoctor.probes._files import text
from gpudoctor.probes._numa import nodes


def probe(root: Path = Path("/")) -> Affinity:
    """Read the affinity of this process, and ``/proc`` and ``/sys`` below `root`."""
    allowed = re.search(r"^Mems_allowed_list:\s*(\S+)", text(root / "proc/self/status"), re.MULTILINE)
    return Affinity(
        cpus=sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else [],
        online=_online(root),
        memory_nodes=sorted(cpus_in(allowed[1])) if allowed else [],
        nodes={str(number): cpus for number, cpus, _ in nodes(root) if cpus},
    )


def _online(root: Path) -> list[int]:
    """Read which processors are on; two places must agree, for containers may show another machine's in one."""
    told = cpus_in(text(root / "sys/devices/system/cpu/online"))
    counted = {int(n) for n in re.findall(r"^cpu(\d+) ", text(root / "proc/stat"), re.MULTILINE)}
    return sorted(told) if told == counted else []
