"""What the control groups of this process grant it: memory, processes, processor time."""

from msgspec import Struct


class Cgroup(Struct, frozen=True, kw_only=True):
    """The tightest limits on the way from this process's own control group up to the root, of version 1 or 2."""

    version: int | None = None
    """2, or 1 where the controllers are mounted one by one; ``None``: no control groups were found."""
    path: str = ""
    """Its own path below the mount, such as ``/system.slice/slurmstepd.scope/job_1/step_0``."""
    memory_max_bytes: int | None = None
    """``memory.max``, ``memory.limit_in_bytes``; ``None``: no limit."""
    memory_used_bytes: int | None = None
    """What counts against that limit, or against `memory_high_bytes` where it is the only one, without the page cache
    that the kernel can drop (``inactive_file``)."""
    memory_high_bytes: int | None = None
    """``memory.high``, above which the kernel slows its processes down to reclaim memory; ``None``: no such limit."""
    memory_throttled: int | None = None
    """How often that happened in it since it was made (``high`` of ``memory.events``)."""
    oom_kills: int | None = None
    """Processes that the kernel killed in it since it was made (``memory.events``, ``memory.oom_control``)."""
    pids_max: int | None = None
    """Threads and processes that it may hold; ``None``: no limit."""
    pids_current: int | None = None
    cpu_quota: float | None = None
    """Processors' worth of time (``cpu.max``, ``cpu.cfs_quota_us``); ``None``: no quota."""
    cpus: str = ""
    """Processors of its cpuset, such as ``0-31``; empty: not known."""
    mems: str = ""
    """NUMA nodes of its cpuset, such as ``0-1``."""
