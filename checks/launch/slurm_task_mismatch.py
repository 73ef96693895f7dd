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

from gpudoctor import Check, Fix, Severity, Symptom

# srun warns of much that does no harm, under mpirun above all; here a rank is waited for.
WAITING = r"clients joined|worker_count=|MEMBER: 1/(?!1\b)\d"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"You set .?devices=(?P<asked>\d+).? in Lightning, but the number of tasks per node configured in SLURM .?--ntasks-per-node=(?P<given>\d+)",
        r"You set .?num_nodes=(?P<asked>\d+).? in Lightning, but the number of nodes configured in SLURM .?--nodes=(?P<given>\d+)",
        r"You set .?--ntasks=(?P<given>\d+).? in your SLURM bash script, but this variable is not supported",
        r"You requested (?P<asked>\d+) GPUs but launched (?P<given>\d+) slurm tasks",
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
        Fix(
            "With srun starting the ranks: one task per GPU, on every node",
            "srun --nodes=2 --ntasks-per-node=4 --gpus-per-node=4 python train.py",
        ),
        Fix(
            "With torchrun starting the ranks: one task per node",
            "srun --nodes=2 --ntasks-per-node=1 --gpus-per-node=4 torchrun --nnodes=2 --nproc-per-node=4 "
            "--rdzv-backend=c10d --rdzv-id=$SLURM_JOB_ID --rdzv-endpoint=$(scontrol show hostnames $SLURM_JOB_NODELIST | head -1):29500 train.py",
        ),
        Fix(
            "In an interactive job: let Lightning start the processes itself",
            "SLURM_JOB_NAME=interactive python train.py",
        ),
    ],
    no_reproduction="needs Slurm",
)
