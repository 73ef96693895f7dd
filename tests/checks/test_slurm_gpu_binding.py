"""slurm-gpu-binding: seen in logs."""

import pytest

from gpudoctor.logs.symptoms import matches
from gpudoctor.registry import Registry

MESSAGE = "Slurm bound this task to its own GPU, which is cuda:0 for it"
EXAMPLES = {
    (
        "srun: launching StepId=4711.0 on host node0, 4 tasks: [0-3]\n"
        "jaxlib.xla_extension.XlaRuntimeError: CUDA_ERROR_INVALID_DEVICE: invalid device ordinal"
    ): MESSAGE,
    (
        "/var/spool/slurmd/job4711/slurm_script: line 12: activate: No such file or directory\n"
        "GPU device may be out of range, do you have enough GPUs?"
    ): MESSAGE,
    "Multi-processing is handled by Slurm.\nMisconfigurationException: You requested gpu: [0, 1, 2, 3]": (
        MESSAGE + "; the script asked for gpu: [0, 1, 2, 3]"
    ),
    "export SLURM_LOCALID=1\nMisconfigurationException: You requested to find 4 devices but this machine only has 1 GPUs.": (
        MESSAGE + "; the script asked for 4 devices"
    ),
}
BOTH = [  # cuda-visible-devices knows these words, too
    "srun: Job 4711 step created\nMisconfigurationException: You requested GPUs: [0, 1]\n But your machine only has: [0]",
    "export SLURM_LOCALID=1\nAssertionError: Invalid device id",
    "srun: launching StepId=4711.0\nRuntimeError: CUDA error: invalid device ordinal",
]
NOT_THIS = [
    "RuntimeError: CUDA error: invalid device ordinal",
    "srun: error: Unable to create step for job 4711: Invalid generic resource (gres) specification",
    "MisconfigurationException: You requested gpu: [0, 1, 2, 3]",
]


@pytest.mark.parametrize("text", BOTH)
def test_knows_the_words_that_it_shares(text):
    assert matches(text, [Registry().check("slurm-gpu-binding")])
