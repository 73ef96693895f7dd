"""Slurm shows each task one GPU, and the script counts on all of them.

## What happens

"invalid device ordinal" on every rank but the node's first; Lightning says "You requested gpu: [0, 1, 2, 3] But your
machine only has: [0]". The other ranks wait for those that died.

## Why

`--gpus-per-task=1`, `--gpu-bind=single:1` or `closest`, or `--ntasks-per-gpu` give each task its own GPU and hide the
others. In each task it is `cuda:0`; `cuda:1`, which local rank 1 asks for, does not exist.

## How to tell

`srun bash -c 'echo $SLURM_LOCALID $CUDA_VISIBLE_DEVICES'` inside the allocation. One GPU per line, and several tasks
per node: this is it. If every task shows the same single GPU, the job has one GPU for all (`nccl-duplicate-gpu`).

## See also

- [Slurm: generic resources](https://slurm.schedmd.com/gres.html): how a job's GPUs become CUDA_VISIBLE_DEVICES
- [lightning#16828](https://github.com/Lightning-AI/pytorch-lightning/issues/16828): Lightning and `--gpus-per-task`
- [mace#435](https://github.com/ACEsuit/mace/issues/435): invalid device ordinal, ended by `--gpus-per-node`
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom, count
from gpudoctor.facts import Gpus, Launch, Torch

# What shows that the process ran under Slurm; elsewhere the same words mean cuda-visible-devices.
SLURM = r"srun: |slurmstepd|SLURM_[A-Z]{3}|/slurm_script|/slurmd?/|\bhandled by Slurm\b|--gpus-per-task|--gpu-bind|SLURMEnvironment|sbatch"
TOGETHER = Fix(
    "Give the GPUs to the node's tasks together, and let each choose by its local rank",
    "srun --gpus-per-node=4 --ntasks-per-node=4 --gpu-bind=none python train.py",
)
AMONG_SEEN = Fix(
    "Or choose among those that the task sees",
    'local = int(os.environ["SLURM_LOCALID"]) % torch.cuda.device_count()\ntorch.cuda.set_device(local)',
    Kind.EDIT,
    proof="% torch.cuda.device_count()",
)
LOOK = Fix("See what each task sees", "srun bash -c 'echo $SLURM_LOCALID $CUDA_VISIBLE_DEVICES'")

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where the script may yet choose right",
    machine=True,
    symptoms=[
        Symptom(
            r"invalid device ordinal|GPU device may be out of range|AssertionError: Invalid device id|ut your machine only has: \[",
            near=SLURM,
        ),
        Symptom(r"You requested (?P<asked>(?:gpus?|GPUs): \[[\d, ]+\])", near=SLURM),
        Symptom(
            r"You requested (?:to find )?(?P<asked>\d+ (?:devices|GPUs)) but (?:this|your) machine only has \d+ GPUs?",
            near=SLURM,
        ),
    ],
    message="Slurm bound this task to its own GPU, which is cuda:0 for it[; the script asked for <asked>]",
    fixes=[
        TOGETHER,
        AMONG_SEEN,
        LOOK,
    ],
)


@check.environment
def environment(launch: Launch, gpus: Gpus | None, torch: Torch | None) -> Iterator[Finding]:
    """The number by which this rank will choose its GPU is beyond those that Slurm shows to its task."""
    if not launch.slurm_task or (torch and torch.hip):
        return
    seen = _visible(launch, gpus, torch)
    local = launch.number("LOCAL_RANK")
    if not seen or local is None or local < seen:
        return
    value = launch.variables.get("CUDA_VISIBLE_DEVICES")
    sees = f"{count(seen, 'GPU')}{f' (CUDA_VISIBLE_DEVICES={value})' if value is not None else ''}"
    if launch.torchrun:
        message = (
            f"LOCAL_RANK is {local}, and Slurm shows this task {sees}: torchrun's ranks share what one task has, so "
            f"cuda:{local} raises 'invalid device ordinal'"
        )
        ranks = launch.number("LOCAL_WORLD_SIZE") or local + 1
        whole = Fix(
            "Give the node's GPUs to the one task in which torchrun runs",
            f"srun --ntasks-per-node=1 --gpus-per-node={ranks} --gpu-bind=none torchrun --standalone --nproc-per-node={ranks} train.py",
        )
        yield check.found(message, fixes=[whole, LOOK])
        return
    message = f"LOCAL_RANK is {local}, and Slurm shows this task {sees}: cuda:{local} does not exist here"
    message += ", the task's own GPU is cuda:0" if seen == 1 else ""
    # A script that takes the remainder, or cuda:0, is right.
    yield check.found(message, severity=Severity.WARNING, fixes=[TOGETHER, AMONG_SEEN, LOOK])


def _visible(launch: Launch, gpus: Gpus | None, torch: Torch | None) -> int:
    """Return how many GPUs this task sees: as torch counts, or of those that NVML shows as the variable leaves."""
    if torch is not None and torch.device_count:
        return torch.device_count
    value = launch.variables.get("CUDA_VISIBLE_DEVICES")
    here = len(gpus.devices) if gpus else 0
    return min(here, len(value.split(","))) if value else here
