"""Slurm starts another number of tasks than the program expects.

## What happens

Lightning stops with "You set `devices=4` in Lightning, but the number of tasks per node configured in SLURM
`--ntasks-per-node=1` does not match". Without such a test the ranks that do not exist are waited for, or each task
trains alone with a world size of 1.

## Why

One of two must start the ranks, and the numbers must be its own: srun with one task per GPU, or torchrun with one task
per node. `--ntasks` alone lets Slurm spread the tasks as it likes, and Lightning refuses it. A shell inside an
interactive job counts as one task. srun ignores `--ntasks-per-node` where it contradicts `--ntasks`, with a warning.

## How to tell

`srun hostname | sort | uniq -c` shows the tasks on each node; `scontrol show job $SLURM_JOB_ID | grep -i ntasks`.

## See also

- [Lightning on a Slurm cluster](https://lightning.ai/docs/pytorch/stable/clouds/cluster_advanced.html): `devices` and `num_nodes` as in the job script
- [lightning#20391](https://github.com/Lightning-AI/pytorch-lightning/issues/20391): fewer tasks than Lightning counts
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Severity, Symptom, count
from gpudoctor.facts import Gpus, Launch

# srun warns of much that does no harm, under mpirun above all; here a rank is waited for.
WAITING = r"clients joined|worker_count=|MEMBER: 1/(?!1\b)\d"
RANKS_BY_SRUN = Fix(
    "With srun starting the ranks: one task per GPU, on every node",
    "srun --nodes=2 --ntasks-per-node=4 --gpus-per-node=4 python train.py",
)
RANKS_BY_TORCHRUN = Fix(
    "With torchrun starting the ranks: one task per node",
    "srun --nodes=2 --ntasks-per-node=1 --gpus-per-node=4 torchrun --nnodes=2 --nproc-per-node=4 "
    "--rdzv-backend=c10d --rdzv-id=$SLURM_JOB_ID --rdzv-endpoint=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -1):29500 train.py",
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where it may be meant so",
    symptoms=[
        r"You set .?devices=(?P<asked>\d+).? in Lightning, but the number of tasks per node configured in SLURM .?--ntasks-per-node=(?P<given>\d+)",
        r"You set .?num_nodes=(?P<asked>\d+).? in Lightning, but the number of nodes configured in SLURM .?--nodes=(?P<given>\d+)",
        r"You set .?--ntasks=(?P<given>\d+).? in your SLURM bash script, but this variable is not supported",
        # where Lightning then starts them itself, nothing is amiss
        Symptom(
            r"You requested (?P<asked>\d+) GPUs but launched (?P<given>\d+) slurm tasks",
            unless=r"We will launch \d+ processes for you",
        ),
        Symptom(
            r"can't honor --ntasks-per-node set to (?P<asked>\d+) which doesn't match the requested tasks (?P<given>\d+)",
            near=WAITING,
        ),
        Symptom(
            r"[Cc]an't run (?P<given>\d+) processes on (?P<asked>\d+) nodes, setting nnodes to", near=WAITING
        ),
    ],
    message="the launch[ asks for <asked> and] has <given> by Slurm's count: the ranks that are missing or too many upset it",
    fixes=[
        RANKS_BY_SRUN,
        RANKS_BY_TORCHRUN,
        Fix(
            "In an interactive job: let Lightning start the processes itself",
            "SLURM_JOB_NAME=interactive python train.py",
            source="https://github.com/Lightning-AI/pytorch-lightning/blob/master/src/lightning/fabric/plugins/environments/slurm.py",
        ),
    ],
    no_reproduction="needs Lightning: this step alone makes Slurm say nothing",
)


@check.environment
def environment(launch: Launch, gpus: Gpus | None) -> Iterator[Finding]:
    """The tasks that srun started, and the ranks that somebody else starts or counts, do not fit each other."""
    if not launch.slurm_task:
        return  # the batch script: what is started from it cannot be seen here
    tasks, here = launch.slurm_tasks, launch.slurm_tasks_here
    message = _each_starts_ranks(launch, here, gpus) if launch.torchrun else _counted(launch, tasks)
    fixes = [RANKS_BY_TORCHRUN, RANKS_BY_SRUN] if launch.torchrun else [RANKS_BY_SRUN, RANKS_BY_TORCHRUN]
    if message:
        # With one task somebody may start the other ranks by hand.
        severity = Severity.WARNING if tasks == 1 and not launch.torchrun else Severity.ERROR
        yield check.found(message, severity=severity, fixes=fixes)
        return
    given = launch.number("SLURM_GPUS_ON_NODE")
    bound = any(
        name in launch.variables for name in ("SLURM_GPUS_PER_TASK", "SLURM_NTASKS_PER_GPU", "SLURM_GPU_BIND")
    )
    if here is not None and given is not None and here > given > 0 and not (launch.torchrun or bound):
        message = (
            f"Slurm runs {here} tasks on this node and gave the job {given} of its GPUs: some tasks share a GPU, "
            "which NCCL refuses"
        )
        yield check.found(message, severity=Severity.WARNING, fixes=fixes)
    elif launch.torchrun:
        yield from _alone(launch)


def _each_starts_ranks(launch: Launch, here: int | None, gpus: Gpus | None) -> str | None:
    """Say that srun started torchrun once for each GPU, and torchrun again starts a rank for each."""
    ranks = launch.number("LOCAL_WORLD_SIZE")
    if here is None or here < 2 or ranks is None or ranks < 2:
        return None
    devices = launch.number("SLURM_GPUS_ON_NODE") or (len(gpus.devices) if gpus else 0)
    if devices and here * ranks <= devices:
        return None
    return (
        f"srun starts {here} tasks on this node, and in each torchrun starts {ranks} ranks: {here * ranks} processes"
        f"{f' for {devices} GPUs' if devices else ''}"
    )


def _counted(launch: Launch, tasks: int | None) -> str | None:
    """Say that WORLD_SIZE is not the number of tasks, where the tasks are the ranks."""
    world, rank = launch.number("WORLD_SIZE"), launch.number("RANK")
    if world is None or rank is None or tasks is None or world == tasks or "GROUP_RANK" in launch.variables:
        return None
    if rank != launch.number("SLURM_PROCID") or "PET_NNODES" in launch.variables:
        return None  # somebody else numbers the ranks
    if world == tasks * (launch.number("LOCAL_WORLD_SIZE") or 1):
        return None  # a launcher in each task
    if tasks < world:
        return f"WORLD_SIZE is {world}, and srun started {count(tasks, 'task')}: the other ranks never come"
    return f"WORLD_SIZE is {world}, and srun started {tasks} tasks: some ranks are too many, or train alone"


def _alone(launch: Launch) -> Iterator[Finding]:
    """Every node of the step trains by itself: torchrun was told of one node."""
    nodes, groups = launch.number("SLURM_STEP_NUM_NODES"), launch.number("GROUP_WORLD_SIZE")
    if nodes is None or groups != 1 or nodes < 2 or launch.slurm_tasks != nodes:
        return
    message = (
        f"srun starts torchrun on {nodes} nodes, and each of them knows of one node alone (GROUP_WORLD_SIZE=1): "
        f"{nodes} trainings run side by side"
    )
    yield check.found(message, severity=Severity.WARNING, fixes=[RANKS_BY_TORCHRUN])
