"""slurm-task-mismatch: in logs and in facts."""

import pytest

from gpudoctor.facts import Launch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

MESSAGE = "the launch asks for 2 and has 1 by Slurm's count: the ranks that are missing or too many upset it"
EXAMPLES = {
    (
        "ValueError: You set `devices=4` in Lightning, but the number of tasks per node configured in SLURM "
        "`--ntasks-per-node=1` does not match. HINT: Set `devices=1`."
    ): "the launch asks for 4 and has 1 by Slurm's count: the ranks that are missing or too many upset it",
    "ValueError: You set `num_nodes=2` in Lightning, but the number of nodes configured in SLURM `--nodes=1` does not match.": MESSAGE,
    (
        "RuntimeError: You set `--ntasks=8` in your SLURM bash script, but this variable is not supported. "
        "HINT: Use `--ntasks-per-node=8` instead."
    ): "the launch has 8 by Slurm's count: the ranks that are missing or too many upset it",
    "You requested 2 GPUs but launched 1 slurm tasks.": MESSAGE,
    (
        "srun: warning: can't honor --ntasks-per-node set to 4 which doesn't match the requested tasks 8 with the maximum "
        "number of requested nodes 1. Ignoring --ntasks-per-node.\nInitializing distributed: GLOBAL_RANK: 0, MEMBER: 1/8"
    ): "the launch asks for 4 and has 8 by Slurm's count: the ranks that are missing or too many upset it",
    "srun: Warning: can't run 1 processes on 2 nodes, setting nnodes to 1\nInitializing distributed: GLOBAL_RANK: 0, MEMBER: 1/2": MESSAGE,
}
NOT_THIS = [
    "You requested 4 GPUs but launched 1 slurm tasks.\nWe will launch 4 processes for you.",
    "srun: warning: can't honor --ntasks-per-node set to 4 which doesn't match the requested tasks 8",
    "srun: error: Unable to create step for job 4711: More processors requested than permitted",
    "Multi-processing is handled by Slurm.",
    "The `srun` command is available on your system but is not used. HINT: prepend your python command with `srun`",
    "Initializing distributed: GLOBAL_RANK: 0, MEMBER: 1/8",
]


def run(**facts):
    return examine(Registry().check("slurm-task-mismatch"), Source.ENVIRONMENT, Snapshot(facts))


TASK = {
    "SLURM_STEP_ID": "0",
    "SLURM_PROCID": "5",
    "SLURM_STEP_NUM_TASKS": "8",
    "SLURM_STEP_TASKS_PER_NODE": "4(x2)",
}
TORCHRUN = {
    "TORCHELASTIC_RUN_ID": "1",
    "LOCAL_WORLD_SIZE": "4",
    "GROUP_WORLD_SIZE": "2",
    "WORLD_SIZE": "8",
    "RANK": "5",
}


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        (
            {**TASK, **TORCHRUN, "SLURM_GPUS_ON_NODE": "4"},
            "4 tasks on this node, and in each torchrun starts 4 ranks",
        ),
        (
            {**TASK, "RANK": "5", "WORLD_SIZE": "16"},
            "WORLD_SIZE is 16, and srun started 8 tasks: the other ranks",
        ),
        ({**TASK, "RANK": "5", "WORLD_SIZE": "6"}, "some ranks are too many"),
    ],
)
def test_found(variables, says):
    _, [finding] = run(launch=Launch(variables=variables))
    assert finding.severity is Severity.ERROR
    assert says in finding.message


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({**TASK, "SLURM_GPUS_ON_NODE": "2"}, "4 tasks on this node and gave the job 2"),
        (
            {
                **TORCHRUN, "GROUP_WORLD_SIZE": "1", "SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "2",
                "SLURM_STEP_NUM_NODES": "2", "SLURM_STEP_TASKS_PER_NODE": "1(x2)",
            },
            "2 trainings run side by side",
        ),
        (
            {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0", "RANK": "0", "WORLD_SIZE": "2"},
            "srun started 1 task:",
        ),
    ],
)  # fmt: skip
def test_found_as_a_warning(variables, says):
    _, [finding] = run(launch=Launch(variables=variables))
    assert finding.severity is Severity.WARNING
    assert says in finding.message


@pytest.mark.parametrize(
    "variables",
    [
        {},
        TASK,
        {**TASK, "RANK": "5", "WORLD_SIZE": "8", "SLURM_GPUS_ON_NODE": "4"},
        {**TASK, **TORCHRUN, "SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_TASKS_PER_NODE": "1(x2)"},
        {**TASK, **TORCHRUN, "LOCAL_WORLD_SIZE": "2", "SLURM_GPUS_ON_NODE": "8"},
        {
            **TORCHRUN,
            "SLURM_PROCID": "0",
            "SLURM_NTASKS": "8",
            "SLURM_NTASKS_PER_NODE": "8",
        },  # a batch script
        {**TASK, "RANK": "1", "WORLD_SIZE": "2", "PET_NNODES": "2"},
    ],
)
def test_passes(variables):
    result, found = run(launch=Launch(variables=variables))
    assert result.status is CheckStatus.PASSED, found


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN
