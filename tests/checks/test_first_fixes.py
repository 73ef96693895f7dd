"""Of a check that knows several causes, the first fix of a finding is for the one that the log shows."""

import pytest

from gpudoctor.logs.symptoms import matches
from gpudoctor.registry import Registry

SENDING = "    _pickler(f).dump(obj)\n"
CALLED = "    fn(i, *args)\n"
FIRST = [
    ("extension-build", "RuntimeError: Ninja is required to load C++ extensions", "ninja"),
    ("extension-build", "OSError: CUDA_HOME environment variable is not set.", "module avail cuda"),
    ("extension-build", "error: unsupported GNU version! gcc versions later than 12 are not supported!", "module avail gcc"),
    ("extension-build", "RuntimeError: Error building extension 'cpu_adam'", "grep -n -m 5"),
    ("slurm-gres", "srun: error: Invalid generic resource (gres) specification", "sinfo"),
    (
        "slurm-gres",
        "srun: error: Step requested gres_per_node=gpu:8 is more than the job's gres_per_node=gpu:4",
        "srun --ntasks-per-node=1 torchrun",
    ),
    ("object-unpicklable", f"{SENDING}TypeError: cannot pickle '_io.TextIOWrapper' object", "all_gather_object"),
    ("object-unpicklable", f"{SENDING}AttributeError: Can't pickle local object 'run.<locals>.Step'", "@dataclasses"),
    ("spawn-arguments", f"{CALLED}TypeError: Value after * must be an iterable, not float", "args=(config,)"),
    ("spawn-arguments", f"{CALLED}TypeError: go() takes 1 positional argument but 2 were given", "def run(rank"),
    ("deepspeed-batch", "train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size 16 != 4 * 1 * 1", "--num_gpus"),
    ("deepspeed-batch", "train_batch_size is not equal to micro_batch_per_gpu * gradient_acc_step * world_size 16 != 4 * 1 * 2", '"auto"'),
    ("scheduler-ended-job", "slurmstepd: error: *** JOB 88 ON n3 CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT ***", "--time="),
    ("scheduler-ended-job", "slurmstepd: error: *** JOB 88 ON n3 CANCELLED AT 2026-01-02T03:04:05 DUE TO NODE FAILURE ***", "--exclude=n3"),
    ("scheduler-ended-job", "slurmstepd: error: *** JOB 88 ON n3 CANCELLED AT 2026-01-02T03:04:05 DUE TO PREEMPTION ***", "--requeue"),
    ("scheduler-ended-job", "torch.distributed.elastic.multiprocessing.api.SignalException: Process 7 got signal: 1", "setsid"),
    ("slurm-step-refused", "srun: error: Unable to create step for job 88: More processors requested than permitted", "--cpus-per-task=$SLURM_CPUS_PER_TASK"),
    ("slurm-step-refused", "srun: fatal: cpus-per-task set by two different environment variables SLURM_CPUS_PER_TASK=6 != SLURM_TRES_PER_TASK=cpu=3", "--cpus-per-task="),
    ("slurm-step-refused", "srun: Job 88 step creation temporarily disabled, retrying (Requested nodes are busy)", "--overlap"),
    ("slurm-step-refused", "sbatch: error: Batch job submission failed: Requested node configuration is not available", "sinfo"),
    ("slurm-step-refused", "srun: fatal: SLURM_MEM_PER_CPU, SLURM_MEM_PER_GPU, and SLURM_MEM_PER_NODE are mutually exclusive.", "unset SLURM_MEM"),
    (
        "triton-toolchain",
        "OSError: /tmp/torchinductor_eve/ab/c1.main.so: failed to map segment from shared object.  The most common reason",
        "TORCHINDUCTOR_CACHE_DIR",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("id", "text", "command"), FIRST)
def test_the_first_fix_is_for_what_the_log_shows(id, text, command):
    (found,) = matches(text, [Registry().check(id)])[:1]
    assert command in found.finding.fixes[0].command
