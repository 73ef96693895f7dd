"""The ranks of one launch run with other variables or versions.

## What happens

One rank waits in a collective for another that talks to it in a different way: a time-out, "Message truncated", "wrong type 4
!= 3", or a number that is right on one node and wrong on the next. Or it works, and one node is slower than the others.

## Why

- A variable was exported in the shell of one node, or in one node's ~/.bashrc, /etc/nccl.conf or ~/.nccl.conf.
- ssh and Open MPI's mpirun hand no variables on by themselves; srun and torchrun do, to what they start.
- The nodes have virtual environments or images of their own, and one was upgraded.
- A node was installed later than the others, with a newer driver.

## How to tell

Save a report in each rank, `srun bash -c 'gpudoctor check -o rank$SLURM_PROCID.json'`, and set them side by side:
`gpudoctor check rank0.json rank1.json`. What names the nodes' own interfaces and addresses may differ, and so may NCCL_DEBUG.

## See also

- [nccl#1328](https://github.com/NVIDIA/nccl/issues/1328): a truncated message; NVIDIA suspects versions or settings
- [mpirun -x](https://docs.open-mpi.org/en/main/man-openmpi/man1/mpirun.1.html): hands a variable on to all processes
"""

from collections.abc import Callable, Iterator
from operator import attrgetter, methodcaller

from gpudoctor import CannotTell, Check, Finding, Fix, Severity
from gpudoctor.facts import Driver, Launch, Rank, Ranks, Torch

EVERYWHERE = Fix(
    "Set it for all ranks alike, in what starts them: sbatch and srun hand their own environment on, ssh does not, and Open MPI's "
    "mpirun to other nodes only what `-x NAME` names",
    "srun --export=ALL python train.py",
    source="https://slurm.schedmd.com/srun.html#OPT_export",
)
COMPARE = Fix(
    "Compare on every node, and start all nodes from one environment or image",
    'python -c "import torch; print(torch.__version__, torch.cuda.nccl.version())"',
)
COMPARE_DRIVERS = Fix("Compare the drivers", "nvidia-smi --query-gpu=driver_version --format=csv")

check = Check(
    severity=Severity.WARNING,
    otherwise="a note where the drivers differ",
    fixes=[EVERYWHERE, COMPARE],
    no_reproduction="shows only where reports of several ranks are compared",
)


@check.environment
def environment(
    ranks: Ranks | None, launch: Launch, torch: Torch | None, driver: Driver | None
) -> Iterator[Finding]:
    """Reports of ranks show variables of NCCL, a torch or a driver that others of them do not have."""
    if ranks is None:
        # The topics that a report needs for this comparison are asked for above.
        if (launch.number("WORLD_SIZE") or 1) > 1:
            raise CannotTell("save a report in each rank, and compare: gpudoctor check rank0.json rank1.json")
        return
    for name in ranks.launched.shared_variables:
        told = _told(ranks.launched, methodcaller("value", name), "not set")
        if told:
            message = f"{name} is {told}: ranks that talk to each other in different ways wait for each other, or fail"
            yield check.found(message, fixes=[EVERYWHERE])
    # Where NCCL differs too, that fails before anything else, and is a failure of its own: nccl-version-mismatch.
    if ranks.other(attrgetter("nccl")) is None:
        told = _told(ranks, attrgetter("torch"))
        if told:
            message = f"torch is {told}: what one rank sends or saves, another need not read as the same"
            yield check.found(message, fixes=[COMPARE])
    told = _told(ranks, attrgetter("driver"))
    if told:
        message = f"the NVIDIA driver is {told}: where one node alone fails or is slow, look there first"
        yield check.found(message, severity=Severity.NOTE, fixes=[COMPARE_DRIVERS])


def _told(ranks: Ranks, tell: Callable[[Rank], str | None], missing: str = "") -> str:
    """Say what two of the ranks have, and in which reports; empty where none is known to have something else."""
    pair = ranks.other(tell)
    return " and ".join(f"{tell(rank) or missing} in {rank.report}" for rank in pair) if pair else ""
