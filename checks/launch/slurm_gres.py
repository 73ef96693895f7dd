"""Slurm does not know the GPUs that the job asks for.

## What happens

"sbatch: error: Batch job submission failed: Invalid generic resource (gres) specification", the same from srun or salloc,
or "Invalid Trackable RESource (TRES) specification". Nothing was started.

## Why

- A slip in the form: `--gres=gpus:4`, `--gres=gpu=4`, a space after a comma.
- A step asks for more than its job has: `srun --gres=gpu:4` in a job with `--gres=gpu:2`.
- A type that the site counts by itself (AccountingStorageTRES) and that does not exist here.
- The site counts GPUs in another way: some allow `--gpus-per-node` alone, some `--gres` alone.

A type that no node has (`gpu:A100:4` where the cluster writes `a100` or `nvidia_a100-sxm4-80gb`), or more GPUs than one node
has, mostly gives "Requested node configuration is not available" instead: `slurm-step-refused`, with the same fixes.

## How to tell

`sinfo -o '%P %G'` lists what each partition has, in the words that `--gres` wants: `gpu:a100:8` is eight GPUs of the type
a100. In a job, `scontrol show job $SLURM_JOB_ID | grep -i tres` shows what it got.

## See also

- [Slurm: generic resources](https://slurm.schedmd.com/gres.html): how nodes declare GPUs and jobs ask for them
- [sbatch --gres](https://slurm.schedmd.com/sbatch.html#OPT_gres): name, type and number, per node
"""

from gpudoctor import Check, Fix, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"(?P<step>Step requested gres\S{1,80} is more than the job's gres\S{1,80})",
        r"(?P<reason>Invalid generic resource \(gres\) specification)",
        r"(?P<reason>Invalid Trackable RESource \(TRES\) specification)",
        r"(?P<reason>Requested GRES option unsupported by configured SelectType plugin)",
        r"(?P<reason>Invalid GRES (?:specification|job specification)|Invalid gres options)",
    ],
    message="[Slurm does not know the GPUs that were asked for: <reason>][the step asks for more GPUs than its job has: <step>]",
    fixes=[
        Fix(
            'For "<step>": ask for no GPUs in the step, and so take over what the job has',
            "srun --ntasks-per-node=1 torchrun --standalone --nproc-per-node=N train.py",
        ),
        Fix("See what each partition has, in the words that --gres wants", "sinfo -o '%P %G %D'"),
        Fix(
            "Ask for a number without a type, in a partition with GPUs",
            "sbatch --partition=PARTITION --gres=gpu:4 job.sh",
            proof="--gres=gpu:",
        ),
        Fix(
            "Or in the newer way, where the site prefers it",
            "sbatch --partition=PARTITION --nodes=1 --gpus-per-node=4 job.sh",
        ),
    ],
)
