"""Read the operating system, container, processors, memory, shared memory, control groups and limits."""

import os
import platform
import resource
from pathlib import Path
from typing import Any

from gpudoctor.facts import Host, Limit
from gpudoctor.probes._cgroup import cgroup
from gpudoctor.probes._files import number, text
from gpudoctor.probes._numa import numa

# linux/capability.h
CAPABILITIES = {
    "net_bind_service": 10, "ipc_lock": 14, "sys_ptrace": 19, "sys_admin": 21, "sys_resource": 24,
}  # fmt: skip


def probe(root: Path = Path("/")) -> Host:
    """Read what ``/proc`` and ``/sys`` below `root` and the C library say of this machine."""
    import psutil

    memory = psutil.virtual_memory()
    group = cgroup(root)
    allowed = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    sysctl = root / "proc/sys"
    return Host(
        system=platform.system(),
        os=_os(root),
        kernel=platform.release(),
        machine=platform.machine(),
        libc="-".join(platform.libc_ver()).strip("-"),
        container=_container(root),
        wsl="microsoft" in platform.release().lower(),
        cpu_model=_cpu_model(root),
        cpus=psutil.cpu_count(),
        cpus_usable=len(allowed) if allowed else None,
        cpu_quota=group.cpu_quota if group else None,
        affinity=_ranges(allowed or []),
        memory_bytes=memory.total,
        memory_available_bytes=memory.available,
        **_shm(root / "dev/shm"),
        limits=_limits(),
        **_files(text(sysctl / "fs/file-nr")),
        pid_max=number(text(sysctl / "kernel/pid_max")),
        threads_max=number(text(sysctl / "kernel/threads-max")),
        threads=_threads(text(root / "proc/loadavg")),
        root=os.geteuid() == 0,
        capabilities=_capabilities(root),
        unprivileged_port=number(text(sysctl / "net/ipv4/ip_unprivileged_port_start")),
        rdma=_rdma(root),
        uptime_seconds=_uptime(root),
        core_pattern=text(sysctl / "kernel/core_pattern"),
        ptrace_scope=number(text(sysctl / "kernel/yama/ptrace_scope")),
        cgroup=group,
        numa=numa(root),
    )


def _files(numbers: str) -> dict[str, Any]:
    """Read allocated, unused (0 since Linux 2.6) and most file handles (sysctl/fs.rst)."""
    values = [number(word) for word in numbers.split()]
    return {"files_open": values[0], "files_max": values[2]} if len(values) == 3 else {}


def _threads(loadavg: str) -> int | None:
    """Read the number of threads, the second of "0.50 0.40 0.30 1/612 4711" (proc_loadavg(5))."""
    words = loadavg.split()
    return number(words[3].partition("/")[2]) if len(words) == 5 else None


def _shm(folder: Path) -> dict[str, Any]:
    try:
        answer = os.statvfs(folder)
    except FileNotFoundError:
        return {
            "shm_missing": (folder.parent / "null").exists()
        }  # else that is no /dev, as in a recorded tree
    except OSError:
        return {}
    return {
        "shm_bytes": answer.f_blocks * answer.f_frsize,
        "shm_free_bytes": answer.f_bavail * answer.f_frsize,
        "shm_inodes_free": answer.f_favail if answer.f_files else None,
        "shm_writable": os.access(folder, os.W_OK | os.X_OK),
    }


def _os(root: Path) -> str:
    for line in text(root / "etc/os-release").splitlines():
        if line.startswith("PRETTY_NAME="):
            return line.partition("=")[2].strip("\"'")
    return ""


def _container(root: Path) -> str | None:
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "kubernetes"
    for marker, name in (
        (".dockerenv", "docker"),
        ("run/.containerenv", "podman"),
        (".singularity.d", "apptainer"),
    ):
        if (root / marker).exists():
            return name
    # systemd's container interface: PID 1 gets container=NAME; its control group names the runtime on cgroup v1.
    for path, separator in (("proc/1/environ", "\0"), ("proc/1/cgroup", "\n")):
        for line in text(root / path).split(separator):
            if line.startswith("container="):
                return line.removeprefix("container=") or None
            for name in ("docker", "kubepods", "libpod", "lxc"):
                if path.endswith("cgroup") and f"/{name}" in line:
                    return {"kubepods": "kubernetes", "libpod": "podman"}.get(name, name)
    return None


def _cpu_model(root: Path) -> str:
    try:
        with open(root / "proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            names = (
                line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model"))
            )
            return next(names, "")
    except OSError:
        return platform.processor()


def _limits() -> dict[str, Limit]:
    def bounded(value: int) -> int | None:
        return None if value == resource.RLIM_INFINITY else value

    limits = {}
    for name in ("memlock", "nofile", "nproc", "core", "as", "data", "fsize", "cpu"):
        soft, hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))
        limits[name] = Limit(soft=bounded(soft), hard=bounded(hard))
    return limits


def _capabilities(root: Path) -> list[str] | None:
    for line in text(root / "proc/self/status").splitlines():
        if line.startswith("CapEff:"):
            mask = int(line.partition(":")[2], 16)
            return [name for name, bit in CAPABILITIES.items() if mask >> bit & 1]
    return None


def _rdma(root: Path) -> dict[str, str]:
    """Return the RDMA devices; a port's state is "4: ACTIVE" (Documentation/ABI/stable/sysfs-class-infiniband)."""
    found = {}
    for device in sorted((root / "sys/class/infiniband").glob("*")):
        active = [p for p in sorted(device.glob("ports/*")) if text(p / "state").startswith("4")]
        found[device.name] = text(active[0] / "link_layer") if active else ""
    return found


def _uptime(root: Path) -> float | None:
    first = text(root / "proc/uptime").partition(" ")[0]
    return float(first) if first.replace(".", "", 1).isdecimal() else None


def _ranges(numbers: list[int]) -> str:
    """Write processors as the kernel does: ``0-3,8``."""
    runs: list[list[int]] = []
    for one in numbers:
        if runs and one == runs[-1][1] + 1:
            runs[-1][1] = one
        else:
            runs.append([one, one])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)
