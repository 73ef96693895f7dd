"""The ranks may use too few of the machine's processors.

## What happens

GPUs wait for data: `nvidia-smi` shows use that comes and goes, and one core is at 100 %. DataLoader warns "This
DataLoader will create 8 worker processes in total. Our suggested max number of worker in current system is 1".

## Why

A rank has a thread that drives the GPU, some of NCCL's, and its data loader workers. Slurm gives a task one processor
unless it is asked for more, and all that the task starts share it. A container's quota, `taskset` and a cpuset limit as
well. The machine has more: other jobs use them, or nobody does.

## How to tell

`env -u OMP_NUM_THREADS nproc` where the training runs (under Slurm behind `srun`; with OMP_NUM_THREADS set, `nproc` prints
that), against `lscpu | grep '^CPU(s)'` for the whole machine; in a container `cat /sys/fs/cgroup/cpu.max` for the quota.

## See also

- [sbatch --cpus-per-task](https://slurm.schedmd.com/sbatch.html#OPT_cpus-per-task): processors for each task, one without it
- [Changes in Slurm 23.11](https://github.com/SchedMD/slurm/blob/master/CHANGELOG/slurm-23.11.md): srun takes it over from sbatch again; from 22.05 to 23.02 it does not
- [DataLoader: multi-process loading](https://docs.pytorch.org/docs/stable/data.html#multi-process-data-loading): what workers are
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, count
from gpudoctor.facts import Gpus, Host, Launch

# One for the rank and one for what loads its data.
PER_GPU_RANK = 2
PER_RANK = 1

SLURM = Fix(
    "Under Slurm: ask for processors for each task, to srun too; a task in which torchrun starts N ranks needs N times as many",
    "srun --cpus-per-task=8 python train.py",
)
DOCKER = Fix("In docker: raise the quota, or leave it out", "docker run --cpus=32 IMAGE")
POD = Fix(
    "In Kubernetes: raise the limit, in the pod's specification",
    'resources: {limits: {cpu: "32"}}',
    Kind.EDIT,
)
BOUND = Fix("See to which processors this shell is bound", "taskset -cp $$")
FEWER = Fix(
    "No more loader workers than there are processors", "DataLoader(dataset, num_workers=1)", Kind.EDIT
)

check = Check(
    severity=Severity.WARNING,
    fixes=[SLURM, DOCKER, POD, BOUND, FEWER],
)


@check.environment
def environment(host: Host, launch: Launch | None, gpus: Gpus | None) -> Iterator[Finding]:
    """Affinity or quota leave less than the ranks need of what the machine has."""
    granted = host.cpus_granted
    if granted is None or host.cpus is None:
        raise CannotTell("how many processors this process may use is not known")
    if granted >= host.cpus:
        return  # all that there are
    devices = len(gpus.devices) if gpus else 0
    ranks = max((launch.ranks_here if launch else None) or devices, 1)
    alone = _bound_alone(host, launch)
    each = granted if alone else granted / ranks
    need = min(PER_GPU_RANK if devices else PER_RANK, host.cpus / ranks)
    if each >= need:
        return
    quota = host.cpu_quota is not None and host.cpu_quota <= (host.cpus_usable or host.cpus)
    how = f"a quota of {host.cpu_quota:g}" if quota and host.cpu_quota is not None else f"{host.cpus_usable}"
    whom = "this rank" if alone or ranks == 1 else count(ranks, "rank")
    message = (
        f"{whom} may use {how} of this machine's {host.cpus} processors: the thread that drives "
        f"{'a GPU' if devices else 'the training'} and what loads the data share them"
    )
    yield check.found(message, fixes=_fixes(host, launch, quota=quota))


def _bound_alone(host: Host, launch: Launch | None) -> bool:
    """Return whether the processors are this task's own: srun binds each task to those that it asked for."""
    if launch is None or launch.torchrun or not launch.slurm_task:
        return False
    tasks, ranks = launch.slurm_tasks_here, launch.number("LOCAL_WORLD_SIZE")
    if tasks is not None and ranks is not None and ranks > tasks:
        return False  # the task starts ranks of its own, which share its processors
    return host.cpus_usable == (launch.number("SLURM_CPUS_PER_TASK") or 1)


def _fixes(host: Host, launch: Launch | None, *, quota: bool) -> list[Fix]:
    if launch is not None and "SLURM_JOB_ID" in launch.variables:
        return [SLURM, FEWER]
    if quota and host.container == "kubernetes":
        return [POD, FEWER]
    if quota and host.container in ("docker", "podman"):
        return [Fix(DOCKER.summary, DOCKER.command.replace("docker", host.container)), FEWER]
    return [BOUND, FEWER]
