"""The machine: operating system, container, processors, memory, shared memory, limits."""

from msgspec import Struct


class Limit(Struct, frozen=True, kw_only=True):
    """A resource limit of gpudoctor's own process, which a training started beside it would share."""

    soft: int | None = None
    """``None``: unlimited."""
    hard: int | None = None


class Host(Struct, frozen=True, kw_only=True):
    """One machine or container."""

    system: str = ""
    """``platform.system()``: ``Linux``, ``Darwin``, ``Windows``."""
    os: str = ""
    """``PRETTY_NAME`` of ``/etc/os-release``."""
    kernel: str = ""
    """``platform.release()``."""
    machine: str = ""
    """``platform.machine()``, such as ``x86_64``."""
    libc: str = ""
    container: str | None = None
    """``docker``, ``podman``, ``kubernetes``, ``lxc``, ``apptainer`` …; ``None``: none was recognised."""
    wsl: bool = False
    cpu_model: str = ""
    cpus: int | None = None
    """Logical processors of the machine."""
    cpus_usable: int | None = None
    """Logical processors that this process may run on (affinity)."""
    cpu_quota: float | None = None
    """Processors that the control group grants (cgroup v2 ``cpu.max``); ``None``: no quota."""
    memory_bytes: int | None = None
    memory_available_bytes: int | None = None
    shm_bytes: int | None = None
    """Size of the file system at ``/dev/shm``; ``None``: there is none."""
    shm_free_bytes: int | None = None
    limits: dict[str, Limit] = {}
    """By name: ``memlock`` (bytes), ``nofile`` (open files), ``nproc`` (processes)."""
