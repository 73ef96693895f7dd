"""The launch variables contradict each other, or the GPUs.

## What happens

Ranks wait for others that do not exist, two processes take the same rank, or a rank asks for a GPU that is not there. It
ends in a time-out, in "invalid device ordinal" or in "Duplicate GPU detected"; NCCL says "rank 1 of 8 ranks has already
checked in", or "mismatch in rank count from procs".

## Why

- `export RANK=$SLURM_PROCID` in a batch script is computed once, by the shell that runs the script: every task gets 0.
- WORLD_SIZE or LOCAL_RANK of an earlier launch is still exported, and one of a new launcher's comes beside it.
- WORLD_SIZE counts the nodes and not the ranks.
- RANK or LOCAL_RANK is exported before `mpirun`, and is the same in every process that it starts.
- `--nproc-per-node` is larger than the number of GPUs.

## How to tell

`env | grep -E '^(RANK|WORLD_SIZE|LOCAL_|GROUP_|SLURM_(PROCID|LOCALID|NTASKS)|OMPI_|PMI_)'` in each process. RANK goes from 0 to
WORLD_SIZE - 1, LOCAL_RANK from 0 to LOCAL_WORLD_SIZE - 1 on each node, and under torchrun with as many ranks on every
node RANK is GROUP_RANK x LOCAL_WORLD_SIZE + LOCAL_RANK. Under `srun torchrun` RANK is not SLURM_PROCID, and need not be.

With a report of each rank, such as `srun bash -c 'gpudoctor check -o rank$SLURM_PROCID.json'` saves, `gpudoctor check
rank0.json rank1.json` compares them: the same RANK twice, another WORLD_SIZE or MASTER_PORT.

## See also

- [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html): the variables it sets
- [Environment variable initialization](https://docs.pytorch.org/docs/stable/distributed.html#environment-variable-initialization): what `env://` reads
"""

from collections.abc import Iterator
from operator import methodcaller

from gpudoctor import Check, Finding, Fix, Severity, Sighting, count
from gpudoctor.facts import Gpus, Launch, Pci, Ranks, Torch

COUNTS = ("LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "GROUP_WORLD_SIZE")
DROP = Fix(
    "Drop what an earlier launch left",
    "unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE GROUP_RANK GROUP_WORLD_SIZE",
    proof="unset RANK WORLD_SIZE LOCAL_RANK LOCAL_WORLD_SIZE",
)
TORCHRUN = Fix("Let torchrun number the ranks", "torchrun --standalone --nproc-per-node=N train.py")
TASK = Fix(
    "Under srun: compute them in each task; MASTER_ADDR and MASTER_PORT are the same for all and stay in the batch script",
    "srun bash -c 'RANK=$SLURM_PROCID LOCAL_RANK=$SLURM_LOCALID WORLD_SIZE=$SLURM_NTASKS python train.py'",
)

ONE_EACH = Fix(
    "Start torchrun once on each node, without mpirun, or once a node by it",
    "torchrun --nnodes=2 --nproc-per-node=N --rdzv-backend=c10d --rdzv-id=JOB --rdzv-endpoint=NODE:29500 train.py",
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        # NCCL's first rank, which hears of all of them (bootstrap.cc)
        r"Bootstrap Root : rank (?P<twice>\d+) of (?P<size>\d+) ranks has already checked in",
        r"Bootstrap Root : mismatch in rank count from procs (?P<counted>\d+) : (?P<size>\d+)",
        r"Bootstrap Root : mismatch in info from procs, nranks (?P<counted>\d+) vs (?P<size>\d+)",  # since 2.23
        # DeepSpeed under mpirun, Lightning, Composer
        r"\b(?P<name>LOCAL_RANK) \((?P<one>\d+)\) != OMPI_COMM_WORLD_LOCAL_RANK \((?P<other>\d+)\)",
        r"Mismatch in (?P<name>local rank) setting, args\.local_rank=(?P<one>-?\d+) but env\['LOCAL_RANK'\]=(?P<other>-?\d+)",
        r"\bMPI (?P<name>rank|world size) (?P<one>\d+) does not match torch (?:rank|world size) (?P<other>\d+)",
        r"initialized with a value of (?P<one>\d+) for \w+, but environment variable (?P<name>[A-Z_]{4,30}) has value (?P<other>\d+)",
        r"`?num_nodes=\d+`? in Lightning, but the product \((?P<one>\d+ \* \d+)\) does not match the world size \((?P<other>\d+)\)",
        r"attempted to launch new distributed processes with `?(?P<again>local_rank > 0)",
    ],
    otherwise="a warning for more ranks than GPUs",
    follows=["rank-out-of-range", "slurm-gpu-binding", "cuda-visible-devices", "slurm-task-mismatch"],
    fixes=[DROP, TORCHRUN, TASK],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say what the ranks told NCCL or a framework of themselves, and what cannot be true of it."""
    seen = sighting.groups
    if "again" in seen:
        message = "a process that a launcher started wants to start ranks itself: LOCAL_RANK was set or changed by hand"
    elif "one" in seen:
        message = f"two launchers, or a launcher and the script, disagree on the {seen.get('name', 'number of ranks')}: {seen['one']} and {seen['other']}"
    elif "twice" in seen:
        message = f"two processes take themselves for rank {seen['twice']} of {seen['size']}: another rank is missing"
    else:
        message = f"one process counts {seen['counted']} ranks and another {seen['size']}: they are of different launches"
    yield check.found(message)


@check.environment
def environment(
    launch: Launch, gpus: Gpus | None, torch: Torch | None, pci: Pci | None, ranks: Ranks | None
) -> Iterator[Finding]:
    """Two of the variables cannot both be true, reports of ranks contradict each other, or ranks outnumber the GPUs."""
    for contradiction in (_no_numbers, _sizes, _torchrun, _slurm, _mpirun, _torchrun_each):
        message = contradiction(launch)
        if message:
            fixes = {_slurm: [TASK, DROP], _torchrun_each: [ONE_EACH]}.get(contradiction, [DROP, TORCHRUN])
            yield check.found(message, fixes=fixes)
            return
    if ranks is not None:
        yield from _between(ranks)
    yield from _more_than_gpus(launch, gpus, torch, pci)


def _between(ranks: Ranks) -> Iterator[Finding]:
    """Compare what the reports of several ranks say of the launch that they share."""
    for name in ("WORLD_SIZE", "MASTER_PORT"):
        pair = ranks.other(methodcaller("number", name))
        if pair is not None:
            told = " and ".join(f"{rank.number(name)} in {rank.report}" for rank in pair)
            yield check.found(
                f"{name} is {told}: these ranks wait for different launches", fixes=[DROP, TORCHRUN]
            )
            return
    same = ranks.alike(methodcaller("number", "RANK"))
    if same is not None and (same[0].number("WORLD_SIZE") or 1) > 1:
        message = (
            f"RANK is {same[0].number('RANK')} in {same[0].report} and in {same[1].report}: two processes take the "
            "same rank, and another is missing"
        )
        yield check.found(message, fixes=[TASK, DROP])


def _no_numbers(launch: Launch) -> str | None:
    """Say which of the counts is no number; RANK and WORLD_SIZE are those of rendezvous-env-missing."""
    for name in COUNTS:
        value = launch.variables.get(name)
        if value is not None and launch.number(name) is None:
            return f"{name}={value or '(empty)'} is no whole number: a script that reads it fails, or takes another GPU"
    for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE"):
        number = launch.number(name)
        if number is not None and number < 1:
            return f"{name} is {number}: there is at least one rank"
    return None


def _sizes(launch: Launch) -> str | None:
    world, local_world = launch.number("WORLD_SIZE"), launch.number("LOCAL_WORLD_SIZE")
    rank, local_rank = launch.number("RANK"), launch.number("LOCAL_RANK")
    if world is not None and local_world is not None and local_world > world:
        return f"LOCAL_WORLD_SIZE is {local_world} and WORLD_SIZE {world}: a node cannot have more ranks than there are"
    ranges = rank is not None and local_rank is not None and world is not None and rank < world
    if ranges and rank is not None and local_rank is not None and local_rank > rank:
        return f"LOCAL_RANK is {local_rank} and RANK {rank}: ranks are counted node by node, so RANK is not the smaller one"
    return None


def _torchrun(launch: Launch) -> str | None:
    """Say what torchrun does not set so: with as many ranks on each node RANK follows from the others."""
    groups, group = launch.number("GROUP_WORLD_SIZE"), launch.number("GROUP_RANK")
    world, local_world = launch.number("WORLD_SIZE"), launch.number("LOCAL_WORLD_SIZE")
    rank, local_rank = launch.number("RANK"), launch.number("LOCAL_RANK")
    if groups is None or world is None or local_world is None:
        return None
    if groups == 1 and world != local_world:
        return (
            f"GROUP_WORLD_SIZE is 1, one node, and WORLD_SIZE {world} is not LOCAL_WORLD_SIZE {local_world}"
        )
    if groups - 1 > world - local_world:
        return (
            f"GROUP_WORLD_SIZE is {groups}, and {local_world} of the {world} ranks that WORLD_SIZE counts are here "
            f"(LOCAL_WORLD_SIZE): too few are left for {count(groups - 1, 'other node')}"
        )
    if rank is None or local_rank is None or group is None or not 0 <= group < groups:
        return None
    # Nodes may differ in how many ranks they have: where the first one's and the last one's begin is known all the same.
    even = world == groups * local_world
    if not even and group not in (0, groups - 1):
        return None
    first = group * local_world if even else world - local_world if group else 0
    if rank != first + local_rank:
        return (
            f"RANK is {rank}, and node {group} with {local_world} ranks and LOCAL_RANK {local_rank} makes "
            f"{first + local_rank}: two processes may take the same rank"
        )
    return None


def _slurm(launch: Launch) -> str | None:
    """Say that a task's rank is not its own, where srun starts the ranks; torchrun and others number them anew."""
    if launch.torchrun or "GROUP_RANK" in launch.variables or not launch.slurm_task:
        return None
    world, tasks = launch.number("WORLD_SIZE"), launch.slurm_tasks
    if world is None or world != tasks or world == 1:
        return None
    for name, own in (("RANK", "SLURM_PROCID"), ("LOCAL_RANK", "SLURM_LOCALID")):
        number, expected = launch.number(name), launch.number(own)
        if number is not None and expected is not None and number != expected:
            return (
                f"{name} is {number} in the task whose {own} is {expected}: set in the batch script, it is the same "
                "in every task"
            )
    return None


def _mpirun(launch: Launch) -> str | None:
    """Say that a process of mpirun has another rank, or that there are others than it started."""
    mpi = launch.mpi
    if mpi is None or launch.torchrun or "GROUP_RANK" in launch.variables:
        return None
    started, world = launch.number(mpi.size), launch.number("WORLD_SIZE")
    if started is None or started < 2 or world is None:
        return None  # a process that no mpirun started may be told that it is the only one
    if world != started:
        each = launch.number("LOCAL_WORLD_SIZE")
        if world == started * (each or world // started):
            return None  # a launcher in each process
        return f"WORLD_SIZE is {world}, and mpirun started {started} processes ({mpi.size}): the ranks do not fit"
    for name, its in (("RANK", mpi.rank), ("LOCAL_RANK", mpi.local_rank)):
        number, own = launch.number(name), launch.number(its)
        if number is not None and own is not None and number != own:
            return f"{name} is {number} in the process whose {its} is {own}: set before mpirun, it is the same in all"
    return None


def _torchrun_each(launch: Launch) -> str | None:
    """Say that mpirun started torchrun several times on this node, and each of them starts all of its ranks."""
    mpi = launch.mpi
    if mpi is None or not launch.torchrun:
        return None
    here, ranks = launch.number(mpi.local_size), launch.number("LOCAL_WORLD_SIZE")
    if here is None or here < 2 or ranks is None or ranks < here:
        return None  # fewer ranks in each than there are of them: the GPUs may be shared out so
    return (
        f"mpirun started {here} processes on this node ({mpi.local_size}), and in each torchrun starts {ranks} ranks: "
        f"{here * ranks} processes, of which {here} have the same RANK"
    )


def _more_than_gpus(
    launch: Launch, gpus: Gpus | None, torch: Torch | None, pci: Pci | None
) -> Iterator[Finding]:
    """There are more ranks on this node than GPUs for them."""
    # torchrun takes PET_NPROC_PER_NODE for --nproc-per-node (torch/distributed/argparse_util.py).
    name = "LOCAL_WORLD_SIZE" if "LOCAL_WORLD_SIZE" in launch.variables else "PET_NPROC_PER_NODE"
    ranks, local_rank = launch.number(name), launch.number("LOCAL_RANK")
    seen = torch.device_count if torch and torch.device_count else len(gpus.devices) if gpus else 0
    if ranks is None or not seen or ranks <= seen or (local_rank is not None and local_rank >= seen):
        return  # the last is cuda-visible-devices
    if seen == 1 and pci is not None and len(pci.gpus) > 1:
        return  # each rank was given a GPU of its own
    message = (
        f"{name} is {ranks}, and {count(seen, 'GPU')} {'is' if seen == 1 else 'are'} visible: the ranks from "
        f"{seen} on have none of their own, and NCCL refuses two on one"
    )
    fix = Fix(
        "Start as many processes as there are visible GPUs",
        f"torchrun --standalone --nproc-per-node={seen} train.py",
    )
    yield check.found(message, severity=Severity.WARNING, fixes=[fix])
