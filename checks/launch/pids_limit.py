"""The container or job may hold too few threads and processes.

## What happens

"can't start new thread", "Resource temporarily unavailable", "cgroup: fork rejected by pids controller": what follows is
`thread-limit`. It shows when the ranks start, or when a data loader starts its workers.

## Why

The control group of a container, pod, job or login has a `pids.max`, and threads count as well as processes. A rank
with CUDA and NCCL has some twenty threads, and one more for each core that OpenMP uses; data loader workers come on top.
Docker's `--pids-limit`, Kubernetes' `podPidsLimit` and systemd's `TasksMax` set it.

## How to tell

`cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids.current` in the container; `pids.events` counts what was refused.

## See also

- [docker run --pids-limit](https://docs.docker.com/reference/cli/docker/container/run/): how many processes a container may have
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, count
from gpudoctor.facts import Gpus, Host, Launch

# A rank that imports torch and joins a process group was seen with 8 threads besides OpenMP's (CPU); CUDA and NCCL add
# about a dozen.
THREADS_PER_RANK = 20
NEARLY = 0.9
FEWER = Fix(
    "Fewer threads and workers: one thread for each rank, and few loader workers", "export OMP_NUM_THREADS=1"
)
DOCKER = Fix("In docker: raise the container's limit", "docker run --pids-limit=-1 IMAGE")
KUBERNETES = Fix(
    "In Kubernetes: podPidsLimit in the kubelet's configuration", "podPidsLimit: 16384", Kind.ADMIN
)
SYSTEMD = Fix(
    "On a machine: raise the limit of the user's slice",
    "sudo systemctl set-property user-$(id -u).slice TasksMax=65536",
    Kind.ADMIN,
)

check = Check(
    severity=Severity.WARNING,
    otherwise="an error where not even the ranks have room",
    fixes=[FEWER, DOCKER, KUBERNETES, SYSTEMD],
)


@check.environment
def environment(host: Host, launch: Launch | None, gpus: Gpus | None) -> Iterator[Finding]:
    """The limit of the control group leaves too little room for the ranks."""
    group = host.cgroup
    if group is None or group.pids_max is None:
        return
    most, now = group.pids_max, group.pids_current or 0
    room = most - now
    ranks = (launch.ranks_here if launch else None) or max(len(gpus.devices) if gpus else 1, 1)
    omp = (launch.number("OMP_NUM_THREADS") if launch else None) or (
        1 if ranks > 1 else int(host.cpus_granted or 1)
    )
    need = ranks * (THREADS_PER_RANK + max(omp, 1))
    holds = f"this container or job may hold {most} threads and processes, and has {now}"
    if room < need:
        message = f"{holds}: {count(ranks, 'rank')} may need {need}, loader workers not counted"
        severity = Severity.ERROR if room < ranks * 8 else Severity.WARNING
        yield check.found(message, severity=severity, fixes=_fixes(host.container))
    elif now >= NEARLY * most:
        yield check.found(f"{holds}: it is nearly full", fixes=_fixes(host.container))


def _fixes(container: str | None) -> list[Fix]:
    if container == "kubernetes":
        return [KUBERNETES, FEWER]
    if container in ("docker", "podman"):
        return [Fix(DOCKER.summary, DOCKER.command.replace("docker", container)), FEWER]
    return [SYSTEMD, FEWER]
