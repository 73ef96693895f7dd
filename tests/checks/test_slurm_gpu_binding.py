"""slurm-gpu-binding: in logs and in facts."""

import pytest

from gpudoctor.facts import Gpu, Gpus, Launch, Torch
from gpudoctor.guard import examine
from gpudoctor.logs.symptoms import matches
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

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


def run(**facts):
    return examine(Registry().check("slurm-gpu-binding"), Source.ENVIRONMENT, Snapshot(facts))


ONE = Gpus(devices=[Gpu(index=0)])
TASK = {"SLURM_STEP_ID": "0", "SLURM_PROCID": "3", "SLURM_LOCALID": "3", "CUDA_VISIBLE_DEVICES": "0"}


def test_a_task_with_a_gpu_of_its_own():
    _, [finding] = run(launch=Launch(variables={**TASK, "LOCAL_RANK": "3"}), gpus=ONE)
    assert finding.severity is Severity.WARNING
    assert "LOCAL_RANK is 3, and Slurm shows this task 1 GPU (CUDA_VISIBLE_DEVICES=0)" in finding.message


def test_torchrun_in_a_task_with_fewer_gpus_than_ranks():
    variables = {**TASK, "LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "4", "TORCHELASTIC_RUN_ID": "1"}
    _, [finding] = run(launch=Launch(variables=variables), torch=Torch(device_count=2))
    assert finding.severity is Severity.ERROR
    assert "--gpus-per-node=4" in finding.fixes[0].command


@pytest.mark.parametrize(
    "variables",
    [
        TASK,  # nobody says how the script will choose
        {**TASK, "LOCAL_RANK": "0"},
        {"LOCAL_RANK": "3", "CUDA_VISIBLE_DEVICES": "0"},  # no Slurm: cuda-visible-devices
        {"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "LOCAL_RANK": "3"},  # from a batch script
    ],
)
def test_passes(variables):
    assert run(launch=Launch(variables=variables), gpus=ONE)[0].status is CheckStatus.PASSED


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN
