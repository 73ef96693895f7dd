"""Processes that matter to training: ranks, what is stuck, and what the dead left in shared memory."""

from msgspec import Struct


class Process(Struct, frozen=True, kw_only=True):
    """One process. Of another user's no more is known than its name and state."""

    pid: int
    name: str = ""
    """Without its arguments."""
    state: str = ""
    """``R``, ``S``, ``D`` (waits in the kernel, and cannot be killed), ``Z`` (dead, and not yet collected) …"""
    parent: int | None = None
    parent_name: str = ""
    age_seconds: float | None = None
    threads: int | None = None
    same_user: bool = False
    own: bool = False
    """It belongs to the launch that is examined: gpudoctor itself, what it descends from, or other ranks of it."""
    rank: str | None = None
    """RANK of its environment; ``None``: it has none, or its environment may not be read."""
    local_rank: str | None = None
    master_port: str | None = None
    orphaned: bool = False
    """What started it as a rank is gone: torchrun, or the parent in mp.spawn."""
    devices: list[str] = []
    """``/dev/nvidia*`` that it has open."""
    waits_in: str = ""
    """Function of the kernel in which it waits (``/proc/PID/wchan``)."""

    @property
    def words(self) -> str:
        """Its name and number, for a reader."""
        return f"{self.name or 'a process'} (pid {self.pid})"


class SharedSegment(Struct, frozen=True, kw_only=True):
    """A file in ``/dev/shm`` that NCCL or torch made and that no process has open or mapped."""

    name: str
    bytes: int
    age_seconds: float | None = None
    same_user: bool = False


class Processes(Struct, frozen=True, kw_only=True):
    """What ``/proc`` shows of this PID namespace."""

    stuck: list[Process] = []
    """Python and NVIDIA's processes that waited in the kernel at two looks, and did nothing in between."""
    zombies: list[Process] = []
    """Python processes that have ended, and whose parent has not collected them at two looks."""
    ranks: list[Process] = []
    """Python processes that are ranks by their environment, or that hold a GPU."""
    user_threads: int | None = None
    """Threads of this user, which count against ``RLIMIT_NPROC``."""
    segments: list[SharedSegment] = []
    """What dead processes left in ``/dev/shm``; those alone of which that is certain."""
