"""The nodes of a Slurm cluster, as ``sinfo`` and ``scontrol show node`` show them."""

import re

from msgspec import Struct

# sinfo(1), NODE STATE CODES: what takes no job. Powered down, reserved and in maintenance are meant so.
OUT = frozenset(
    "down drain drained draining drng fail failing failg error inval invalid_reg unk unknown not_responding".split()
)
_SHORT = re.compile(
    r"gres/gpu count (?:reported lower than configured|too low) \((?P<has>\d{1,3}) < (?P<of>\d{1,3})\)"
)


class SlurmNode(Struct, frozen=True, kw_only=True):
    """One node of the cluster."""

    name: str
    state: str = ""
    """As it is printed: ``drained*``, ``IDLE+DRAIN``, ``MIXED``; empty: not shown."""
    reason: str = ""
    """Why it is out, in the words of an administrator, of slurmd or of a health check; sinfo cuts it off."""
    gpus: int | None = None
    """GPUs that slurm.conf gives it (``Gres``)."""
    gpus_used: int | None = None
    """GPUs that jobs hold (``GresUsed``, ``AllocTRES``)."""
    gpus_counted: int | None = None
    """GPUs of ``CfgTRES``, where the cluster accounts for them."""

    @property
    def out(self) -> bool:
        """Whether it takes no new job; a powered down node of a cloud starts when it is asked for."""
        parts = self.state.lower().split("+")
        if any("~" in part or part.startswith("power") for part in parts):
            return False
        return any(part.rstrip("*#!%$@^-") in OUT for part in parts) or "*" in self.state

    @property
    def lacking(self) -> tuple[int, int] | None:
        """How many GPUs slurmd found and how many slurm.conf promises, where slurmd gave that as the reason."""
        match = _SHORT.search(self.reason)
        return (int(match["has"]), int(match["of"])) if match else None


class Slurm(Struct, frozen=True, kw_only=True):
    """What a text shows of a cluster; no probe asks the controller, which every rank would do at once."""

    nodes: list[SlurmNode] = []
