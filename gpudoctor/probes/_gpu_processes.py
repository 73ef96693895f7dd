"""Whose the processes on a GPU are."""

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from gpudoctor.facts import GpuProcess

RANKED = ("LOCAL_RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK")
"""Variables that a launcher gives each of its ranks."""


class Owners:
    """Tells the processes of the launch that is examined from those of others."""

    def __init__(self, root: Path = Path("/")) -> None:
        """Read the ancestors of this process; `root` stands for ``/``."""
        self.proc = root / "proc"
        asking = os.getppid()  # a probe is a child of gpudoctor
        ancestors = self._ancestors(asking)
        launcher = ancestors[0] if ancestors and any(name in os.environ for name in RANKED) else None
        self.ancestors = {os.getpid(), asking, *ancestors} - {1}
        self.trees = {asking, launcher} - {1, None}

    def process(self, info: Any) -> GpuProcess:
        """Make the fact of one entry of NVML's list."""
        pid = int(info.pid)
        with contextlib.suppress(OSError):
            name = (self.proc / str(pid) / "comm").read_text(errors="replace").strip()
            return GpuProcess(pid=pid, memory_bytes=info.usedGpuMemory, name=name or None, own=self._own(pid))
        return GpuProcess(pid=pid, memory_bytes=info.usedGpuMemory)

    def all(self, infos: Iterable[Any] | None) -> list[GpuProcess] | None:
        """Make the facts of a whole list; ``None``: NVML does not say."""
        return None if infos is None else [self.process(info) for info in infos]

    def _own(self, pid: int) -> bool:
        return pid in self.ancestors or not self.trees.isdisjoint(self._ancestors(pid))

    def _ancestors(self, pid: int) -> list[int]:
        """List the parents of a process, the nearest first."""
        found: list[int] = []
        while (pid := self._parent(pid)) > 0 and pid not in found:
            found.append(pid)
        return found

    def _parent(self, pid: int) -> int:
        try:
            # Behind the name, which is in parentheses and may hold any character: state, then the parent.
            return int(
                (self.proc / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[1]
            )
        except (OSError, ValueError, IndexError):
            return 0
