"""cpus-per-rank: fewer processors than the ranks need."""

import pytest

from gpudoctor.facts import Gpu, Gpus, Host, Launch
from gpudoctor.guard import examine
from gpudoctor.model import Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("cpus-per-rank")
EIGHT = Gpus(devices=[Gpu(index=n) for n in range(8)])


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def test_affinity():
    _, [finding] = run(host=Host(cpus=128, cpus_usable=4), gpus=EIGHT)
    assert finding.message.startswith("8 ranks may use 4 of this machine's 128 processors")
    assert finding.fixes[0].command == "taskset -cp $$"


def test_quota():
    known = Host(cpus=128, cpus_usable=128, cpu_quota=8.0, container="docker")
    _, [finding] = run(host=known, gpus=EIGHT)
    assert "a quota of 8 of this machine's 128" in finding.message
    assert finding.fixes[0].command == "docker run --cpus=32 IMAGE"


def test_a_slurm_task_with_one_processor():
    variables = {
        "SLURM_JOB_ID": "1",
        "SLURM_STEP_ID": "0",
        "SLURM_PROCID": "1",
        "SLURM_STEP_TASKS_PER_NODE": "8",
    }
    _, [finding] = run(host=Host(cpus=128, cpus_usable=1), gpus=EIGHT, launch=Launch(variables=variables))
    assert finding.message.startswith("this rank may use 1 of")
    assert finding.fixes[0].command.startswith("srun --cpus-per-task=")


def test_a_slurm_task_that_starts_ranks_of_its_own():
    variables = {
        "SLURM_JOB_ID": "1",
        "SLURM_STEP_ID": "0",
        "SLURM_PROCID": "0",
        "SLURM_STEP_TASKS_PER_NODE": "1",
        "SLURM_CPUS_PER_TASK": "6",
        "LOCAL_WORLD_SIZE": "8",
    }
    _, [finding] = run(host=Host(cpus=128, cpus_usable=6), gpus=EIGHT, launch=Launch(variables=variables))
    assert finding.message.startswith("8 ranks may use 6 of this machine's 128 processors")


@pytest.mark.parametrize(
    ("known", "variables"),
    [
        (Host(cpus=2, cpus_usable=2), {}),  # a small machine has no more
        (Host(cpus=128, cpus_usable=128), {}),
        (Host(cpus=128, cpus_usable=16), {}),
        (
            Host(cpus=128, cpus_usable=8),
            {"SLURM_PROCID": "3", "SLURM_NTASKS_PER_NODE": "8", "SLURM_CPUS_PER_TASK": "8"},
        ),
        (Host(cpus=4, cpus_usable=4, cpu_quota=3.9), {"LOCAL_WORLD_SIZE": "1"}),
    ],
)
def test_passes(known, variables):
    result, found = run(host=known, gpus=EIGHT, launch=Launch(variables=variables))
    assert result.status is CheckStatus.PASSED, found


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN
    assert run(host=Host(cpus=4))[0].status is CheckStatus.UNKNOWN
