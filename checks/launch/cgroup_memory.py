"""The memory that this job may use is too small, or nearly used up.

## What happens

A rank or a data loader worker is killed without a word: exit code -9 or 137, `host-oom-killed`. It often comes while
the checkpoint or the data set is read, when all ranks do it at once.

## Why

A container, pod or Slurm job may use as much of the host's memory as its control group says, however much the machine
has. A rank that uses a GPU takes more than a GiB of the host's memory before it has read anything: libraries, CUDA
context, pinned buffers. Each rank reads its own copy of the checkpoint unless the file is mapped. What lies in `/dev/shm` counts.

## How to tell

- In a container: `cat /sys/fs/cgroup/memory.max /sys/fs/cgroup/memory.current` (with control groups of version 1:
  `cat /sys/fs/cgroup/memory/memory.limit_in_bytes`).
- In a Slurm job: `scontrol show job $SLURM_JOB_ID | grep -i mem`; the files are in
  `/sys/fs/cgroup$(cut -d: -f3- /proc/self/cgroup)` and the folders above it.
- In Kubernetes: `kubectl get pod POD -o jsonpath='{.spec.containers[*].resources}'`.

## See also

- [sbatch --mem](https://slurm.schedmd.com/sbatch.html#OPT_mem): memory per node
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, byte_size, count
from gpudoctor.facts import Cgroup, Gpus, Host, Launch

GIB = 1 << 30
MIB = 1 << 20
# The least: what a process that trains a small model takes, with CUDA's libraries and context. Real models take more.
PER_RANK = 512 * MIB
PER_GPU_RANK = GIB
NEARLY = 0.9

SLURM = Fix("Under Slurm: ask for more (0 is all of the node's)", "sbatch --mem=0 job.sh")
DOCKER = Fix("In docker: raise the container's limit", "docker run --memory=64g --memory-swap=64g IMAGE")
POD = Fix(
    "In Kubernetes: raise the limit, in the pod's specification",
    'resources: {limits: {memory: "64Gi"}}',
    Kind.EDIT,
)
LOOK = Fix("See what takes it", "ps -eo pid,user,rss,args --sort=-rss | head")
FEWER = Fix(
    "Fewer workers per rank, and fewer batches waiting in each",
    "DataLoader(dataset, num_workers=2, prefetch_factor=1)",
    Kind.EDIT,
)

check = Check(
    severity=Severity.WARNING,
    fixes=[SLURM, DOCKER, POD, LOOK, FEWER],
)


@check.environment
def environment(host: Host, launch: Launch | None, gpus: Gpus | None) -> Iterator[Finding]:
    """The control group's limit, or what is left of it or of the machine's memory, does not suffice for the ranks."""
    devices = len(gpus.devices) if gpus else 0
    ranks = (launch.ranks_here if launch else None) or max(devices, 1)
    need = ranks * (PER_GPU_RANK if devices else PER_RANK)
    wants = f"{count(ranks, 'rank')} {'that uses a GPU needs' if ranks == 1 and devices else 'need'} about {byte_size(need)}"
    if ranks == 1 and not devices:
        wants = f"a training process needs about {byte_size(need)}"
    group = host.cgroup
    limit = group.memory_max_bytes if group else None
    if limit is not None and (host.memory_bytes is None or limit < host.memory_bytes):
        used = group.memory_used_bytes if group else None
        fixes = _fixes(host.container, launch)
        if limit < need:
            message = f"this container or job may use {byte_size(limit)} of memory, and {wants} to start"
            yield check.found(message, fixes=fixes)
        elif used is not None and used >= NEARLY * limit:
            message = (
                f"this container or job uses {byte_size(used)} of the {byte_size(limit)} that it may: "
                "the kernel kills a process of it when that is reached"
            )
            yield check.found(message, fixes=[LOOK, *fixes])
        elif group is not None:
            yield from _slowed(group, fixes)
    elif group is not None and group.memory_high_bytes is not None:
        yield from _slowed(group, _fixes(host.container, launch))
    elif host.memory_bytes and host.memory_available_bytes is not None:
        free = host.memory_available_bytes
        if free < min(need, host.memory_bytes * (1 - NEARLY)):
            message = f"{byte_size(free)} of this machine's {byte_size(host.memory_bytes)} of memory is available, and {wants}"
            yield check.found(message, fixes=[LOOK, FEWER])


def _slowed(group: Cgroup, fixes: list[Fix]) -> Iterator[Finding]:
    """Find a control group that is above the limit at which the kernel reclaims its memory, and was slowed down."""
    high, used = group.memory_high_bytes, group.memory_used_bytes
    if high is None or used is None or used < NEARLY * high or not group.memory_throttled:
        return
    message = (
        f"this container or job uses {byte_size(used)}, and above {byte_size(high)} (memory.high) the kernel slows its processes "
        f"down until memory is reclaimed, {count(group.memory_throttled, 'time')} so far"
    )
    yield check.found(message, fixes=[LOOK, *fixes])


def _fixes(container: str | None, launch: Launch | None) -> list[Fix]:
    if launch is not None and "SLURM_JOB_ID" in launch.variables:
        return [SLURM, FEWER]
    if container == "kubernetes":
        return [POD, FEWER]
    if container in ("docker", "podman"):
        run = DOCKER.command.replace("docker", container)
        return [Fix(DOCKER.summary, run), FEWER]
    return [LOOK, FEWER]
