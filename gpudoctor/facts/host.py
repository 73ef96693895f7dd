"""The machine: operating system, container, processors, memory, shared memory, limits."""

from msgspec import Struct

from gpudoctor.facts.cgroup import Cgroup
from gpudoctor.facts.numa import Numa


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
    """Processors that the control group grants (``cpu.max``); ``None``: no quota."""
    affinity: str = ""
    """The processors that this process may run on, such as ``0-31``."""
    memory_bytes: int | None = None
    memory_available_bytes: int | None = None
    shm_bytes: int | None = None
    """Size of the file system at ``/dev/shm``; ``None``: there is none."""
    shm_missing: bool = False
    """There is no folder ``/dev/shm`` at all."""
    shm_free_bytes: int | None = None
    shm_inodes_free: int | None = None
    """Files that can still be made there; ``None``: that file system does not count them."""
    shm_writable: bool | None = None
    """This process may make files there."""
    limits: dict[str, Limit] = {}
    """By name: ``memlock`` (bytes), ``nofile`` (open files), ``nproc`` (processes), ``core``, ``as`` (address space),
    ``data`` and ``fsize`` (a file) in bytes, ``cpu`` (seconds)."""
    files_open: int | None = None
    """Open files of all processes of this machine (``/proc/sys/fs/file-nr``)."""
    files_max: int | None = None
    """How many they may be together."""
    pid_max: int | None = None
    """The highest process or thread id of this kernel (``kernel.pid_max``): how many there can be at once."""
    threads_max: int | None = None
    """How many threads this kernel makes (``kernel.threads-max``)."""
    threads: int | None = None
    """How many there are now, of all users (``/proc/loadavg``)."""
    root: bool | None = None
    """The effective user is root."""
    capabilities: list[str] | None = None
    """Those of ``ipc_lock``, ``net_bind_service``, ``sys_admin``, ``sys_ptrace`` and ``sys_resource`` that it has."""
    unprivileged_port: int | None = None
    """The first port that everybody may open (``net.ipv4.ip_unprivileged_port_start``)."""
    rdma: dict[str, str] = {}
    """RDMA devices (``/sys/class/infiniband``), each with the link layer of its active port: ``InfiniBand``,
    ``Ethernet``, ``Unspecified``; empty where none is active."""
    lock_refused: str = ""
    """The call of an RDMA adapter's library that a text shows to have got no memory, such as ``ibv_reg_mr``."""
    uptime_seconds: float | None = None
    core_pattern: str = ""
    """Where core dumps go (``kernel.core_pattern``)."""
    ptrace_scope: int | None = None
    """``kernel.yama.ptrace_scope``: from 1 on py-spy may not look at another process without root."""
    cgroup: Cgroup | None = None
    """``None``: not looked at, or no control groups."""
    numa: Numa | None = None

    @property
    def cpus_granted(self) -> float | None:
        """Processors' worth of time that this process and its like may use together: of cpuset and quota."""
        counts = [n for n in (self.cpus_usable, self.cpu_quota) if n is not None]
        return min(counts) if counts else None

    def may(self, capability: str) -> bool:
        """Return whether this process is known to have a capability, such as ``ipc_lock``."""
        return capability in (self.capabilities or [])
