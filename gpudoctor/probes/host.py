"""Read the operating system, container, processors, memory, shared memory and limits."""

import os
import platform
from pathlib import Path

from gpudoctor.facts import Host, Limit


def probe() -> Host:
    """Read what ``/proc``, ``/sys`` and the C library say of this machine."""
    import psutil

    memory = psutil.virtual_memory()
    shm = _space("/dev/shm")
    return Host(
        system=platform.system(),
        os=platform.freedesktop_os_release().get("PRETTY_NAME", "")
        if Path("/etc/os-release").exists()
        else "",
        kernel=platform.release(),
        machine=platform.machine(),
        libc="-".join(platform.libc_ver()).strip("-"),
        container=_container(),
        wsl="microsoft" in platform.release().lower(),
        cpu_model=_cpu_model(),
        cpus=psutil.cpu_count(),
        cpus_usable=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
        cpu_quota=_cpu_quota(),
        memory_bytes=memory.total,
        memory_available_bytes=memory.available,
        shm_bytes=shm[0] if shm else None,
        shm_free_bytes=shm[1] if shm else None,
        limits=_limits(),
    )


def _space(folder: str) -> tuple[int, int] | None:
    try:
        answer = os.statvfs(folder)
    except OSError:
        return None
    return answer.f_blocks * answer.f_frsize, answer.f_bavail * answer.f_frsize


def _container() -> str | None:
    if "KUBERNETES_SERVICE_HOST" in os.environ:
        return "kubernetes"
    for marker, name in (
        ("/.dockerenv", "docker"),
        ("/run/.containerenv", "podman"),
        ("/.singularity.d", "apptainer"),
    ):
        if os.path.exists(marker):
            return name
    # systemd's container interface: PID 1 gets container=NAME; its control group names the runtime on cgroup v1.
    for path, separator in (("/proc/1/environ", "\0"), ("/proc/1/cgroup", "\n")):
        try:
            lines = Path(path).read_text(errors="replace").split(separator)
        except OSError:
            continue
        for line in lines:
            if line.startswith("container="):
                return line.removeprefix("container=") or None
            for name in ("docker", "kubepods", "libpod", "lxc"):
                if path.endswith("cgroup") and f"/{name}" in line:
                    return {"kubepods": "kubernetes", "libpod": "podman"}.get(name, name)
    return None


def _cpu_model() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
            names = (
                line.partition(":")[2].strip() for line in lines if line.startswith(("model name", "Model"))
            )
            return next(names, "")
    except OSError:
        return platform.processor()


def _cpu_quota() -> float | None:
    """Read the control group's grant: cgroup v2 ``cpu.max`` holds "QUOTA PERIOD" or "max PERIOD", microseconds."""
    try:
        quota, period = Path("/sys/fs/cgroup/cpu.max").read_text().split()
    except (OSError, ValueError):
        return None
    return None if quota == "max" else int(quota) / int(period)


def _limits() -> dict[str, Limit]:
    import resource

    def bounded(value: int) -> int | None:
        return None if value == resource.RLIM_INFINITY else value

    limits = {}
    for name in ("memlock", "nofile", "nproc"):
        soft, hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))
        limits[name] = Limit(soft=bounded(soft), hard=bounded(hard))
    return limits
