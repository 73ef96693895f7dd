"""The limit on threads and processes is too low, or nearly reached.

## What happens

"can't start new thread", "Resource temporarily unavailable", "cgroup: fork rejected by pids controller": what follows is
`thread-limit`. It shows when the ranks start, or when a data loader starts its workers.

## Why

The control group of a container, pod, job or login has a `pids.max`, and threads count as well as processes. A rank
with CUDA and NCCL has some twenty threads, and one more for each core that OpenMP uses; data loader workers come on top.
The whole machine has an end, too: `kernel.pid_max`, often 32768 on small or old systems, and `kernel.threads-max`.
Docker's `--pids-limit`, Kubernetes' `podPidsLimit` and systemd's `TasksMax` set it.

## How to tell

`cat /sys/fs/cgroup/pids.max /sys/fs/cgroup/pids.current` in the container; `pids.events` counts what was refused.
Of the machine `sysctl kernel.pid_max kernel.threads-max`; the fourth word of `/proc/loadavg` has the number of threads now.

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
DEFAULTS = {"kernel.pid_max": 32768, "kernel.threads-max": 4096}
"""include/linux/threads.h: PID_MAX_DEFAULT, more where there are more than 32 processors; of threads an eighth of the memory
by pages, which is 4096 for half a GiB (kernel/fork.c: set_max_threads, stacks of 16 KiB)."""
FEWER = Fix(
    "Fewer threads and workers: one thread for each rank, and few loader workers", "export OMP_NUM_THREADS=1"
)
DOCKER = Fix("In docker: raise the container's limit", "docker run --pids-limit=-1 IMAGE")
KUBERNETES = Fix(
    "In Kubernetes: podPidsLimit in the kubelet's configuration", "podPidsLimit: 16384", Kind.ADMIN
)
MACHINE = Fix(
    "Raise the machine's own limit, and for good in /etc/sysctl.d",
    "sudo sysctl -w kernel.pid_max=4194304",
    Kind.ADMIN,
)
SYSTEMD = Fix(
    "On a machine: raise the limit of the user's slice",
    "sudo systemctl set-property user-$(id -u).slice TasksMax=65536",
    Kind.ADMIN,
)

check = Check(
    severity=Severity.WARNING,
    otherwise="an error where not even the ranks have room",
    fixes=[FEWER, DOCKER, KUBERNETES, SYSTEMD, MACHINE],
)


@check.environment
def environment(host: Host, launch: Launch | None, gpus: Gpus | None) -> Iterator[Finding]:
    """The limit of the control group, or the kernel's own, leaves too little room for the ranks."""
    group = host.cgroup
    if group is not None and group.pids_max is not None:
        holds = "this container or job may hold {} threads and processes, and has {}"
        yield from _judged(
            host, launch, gpus, group.pids_max, group.pids_current or 0, holds, _fixes(host.container, launch)
        )
    kernel = {"kernel.pid_max": host.pid_max, "kernel.threads-max": host.threads_max}
    limits = {name: most for name, most in kernel.items() if most}
    if host.threads is not None and limits:
        name = min(limits, key=lambda name: limits[name])
        holds = f"this machine may hold {{}} threads and processes of all users ({name}), and has {{}}"
        fixes = [Fix(MACHINE.summary, MACHINE.command.replace("kernel.pid_max", name), Kind.ADMIN), FEWER]
        found = list(_judged(host, launch, gpus, limits[name], host.threads, holds, fixes))
        usual = DEFAULTS[name]
        if not found and limits[name] < usual:
            message = (
                f"this machine may hold {limits[name]} threads and processes of all users ({name}), and the kernel's own "
                f"default is {usual} or more: ranks, their threads and loader workers use them up"
            )
            found = [check.found(message, fixes=fixes)]
        yield from found


def _judged(
    host: Host, launch: Launch | None, gpus: Gpus | None, most: int, now: int, holds: str, fixes: list[Fix]
) -> Iterator[Finding]:
    room = most - now
    ranks = (launch.ranks_here if launch else None) or max(len(gpus.devices) if gpus else 1, 1)
    omp = (launch.number("OMP_NUM_THREADS") if launch else None) or (
        1 if ranks > 1 else int(host.cpus_granted or 1)
    )
    need = ranks * (THREADS_PER_RANK + max(omp, 1))
    holds = holds.format(most, now)
    if room < need:
        message = f"{holds}: {count(ranks, 'rank')} may need {need}, loader workers not counted"
        severity = Severity.ERROR if room < ranks * 8 else Severity.WARNING
        yield check.found(message, severity=severity, fixes=fixes)
    elif now >= NEARLY * most:
        yield check.found(f"{holds}: it is nearly full", fixes=fixes)


def _fixes(container: str | None, launch: Launch | None) -> list[Fix]:
    if container == "kubernetes":
        return [KUBERNETES, FEWER]
    if container in ("docker", "podman"):
        return [Fix(DOCKER.summary, DOCKER.command.replace("docker", container)), FEWER]
    if launch is not None and "SLURM_JOB_ID" in launch.variables:
        return [FEWER]  # the slice of the user's logins does not hold the job's processes
    return [FEWER, SYSTEMD]
