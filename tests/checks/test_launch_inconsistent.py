"""launch-inconsistent: launch variables that contradict each other."""

import pytest

from gpudoctor.facts import Gpu, Gpus, Launch, Pci, PciDevice, Rank, Ranks
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("launch-inconsistent")
TORCHRUN = {
    "RANK": "11", "WORLD_SIZE": "16", "LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "8", "GROUP_RANK": "1",
    "GROUP_WORLD_SIZE": "2", "TORCHELASTIC_RUN_ID": "none",
}  # fmt: skip
TASK = {"SLURM_STEP_ID": "0", "SLURM_PROCID": "5", "SLURM_LOCALID": "1", "SLURM_STEP_NUM_TASKS": "8"}


EXAMPLES = {
    "gpu-03:811:902 [2] bootstrap.cc:500 NCCL WARN Bootstrap Root : mismatch in info from procs, nranks 16 vs 8, nroots 1 vs 1, iroot 0 vs 0": (
        "one process counts 16 ranks and another 8: they are of different launches"
    ),
    "n3:71:90 [0] bootstrap.cc:140 NCCL WARN Bootstrap Root : rank 5 of 16 ranks has already checked in": (
        "two processes take themselves for rank 5 of 16: another rank is missing"
    ),
    "n3:71:90 [0] bootstrap.cc:131 NCCL WARN Bootstrap Root : mismatch in rank count from procs 16 : 8": (
        "one process counts 16 ranks and another 8: they are of different launches"
    ),
    "AssertionError: LOCAL_RANK (1) != OMPI_COMM_WORLD_LOCAL_RANK (0), not sure how to proceed": (
        "two launchers, or a launcher and the script, disagree on the LOCAL_RANK: 1 and 0"
    ),
    "AssertionError: Mismatch in local rank setting, args.local_rank=2 but env['LOCAL_RANK']=0.": (
        "two launchers, or a launcher and the script, disagree on the local rank: 2 and 0"
    ),
    "AssertionError: MPI world size 8 does not match torch world size 4": (
        "two launchers, or a launcher and the script, disagree on the world size: 8 and 4"
    ),
    "RuntimeError: Torch distributed has been initialized with a value of 8 for world_size, but environment variable WORLD_SIZE has value 4.": (
        "two launchers, or a launcher and the script, disagree on the WORLD_SIZE: 8 and 4"
    ),
    "ValueError: You set `devices=4` and `num_nodes=2` in Lightning, but the product (4 * 2) does not match the world size (4).": (
        "two launchers, or a launcher and the script, disagree on the number of ranks: 4 * 2 and 4"
    ),
    "RuntimeError: Lightning attempted to launch new distributed processes with `local_rank > 0`. This should not happen.": (
        "a process that a launcher started wants to start ranks itself: LOCAL_RANK was set or changed by hand"
    ),
}
NOT_THIS = ["n3:71:90 [0] NCCL INFO Bootstrap Root : rank 5 of 16 ranks checked in"]


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def gpus(count):
    return Gpus(devices=[Gpu(index=n) for n in range(count)])


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        ({"LOCAL_RANK": "x"}, "LOCAL_RANK=x is no whole number"),
        ({"LOCAL_WORLD_SIZE": ""}, "LOCAL_WORLD_SIZE=(empty) is no whole number"),
        ({"WORLD_SIZE": "0"}, "WORLD_SIZE is 0"),
        ({"WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "4"}, "LOCAL_WORLD_SIZE is 4 and WORLD_SIZE 2"),
        ({"WORLD_SIZE": "8", "RANK": "1", "LOCAL_RANK": "3"}, "LOCAL_RANK is 3 and RANK 1"),
        ({**TORCHRUN, "GROUP_WORLD_SIZE": "1", "GROUP_RANK": "0"}, "one node"),
        ({**TORCHRUN, "GROUP_WORLD_SIZE": "32"}, "GROUP_WORLD_SIZE is 32"),
        ({**TORCHRUN, "WORLD_SIZE": "8", "RANK": "3"}, "too few are left for 1 other node"),
        (
            {**TORCHRUN, "WORLD_SIZE": "10", "GROUP_WORLD_SIZE": "4", "RANK": "9"},
            "too few are left for 3 other nodes",
        ),
        (
            {**TORCHRUN, "WORLD_SIZE": "12", "RANK": "11"},
            "RANK is 11, and node 1 with 8 ranks and LOCAL_RANK 3 makes 7",
        ),
        ({**TORCHRUN, "WORLD_SIZE": "12", "GROUP_RANK": "0"}, "makes 3"),
        ({**TORCHRUN, "RANK": "3"}, "RANK is 3, and node 1 with 8 ranks and LOCAL_RANK 3 makes 11"),
        ({**TASK, "RANK": "0", "WORLD_SIZE": "8"}, "RANK is 0 in the task whose SLURM_PROCID is 5"),
        ({**TASK, "RANK": "5", "LOCAL_RANK": "0", "WORLD_SIZE": "8"}, "LOCAL_RANK is 0 in the task"),
    ],
)
def test_found(variables, says):
    _, [finding] = run(launch=Launch(variables=variables))
    assert finding.severity is Severity.ERROR
    assert says in finding.message


def test_more_ranks_than_gpus():
    variables = {"LOCAL_WORLD_SIZE": "4", "LOCAL_RANK": "0", "WORLD_SIZE": "4", "RANK": "0"}
    _, [finding] = run(launch=Launch(variables=variables), gpus=gpus(2))
    assert finding.severity is Severity.WARNING
    assert finding.fixes[0].command == "torchrun --standalone --nproc-per-node=2 train.py"


@pytest.mark.parametrize(
    "variables",
    [
        {},
        TORCHRUN,
        {**TORCHRUN, **TASK},  # srun torchrun: RANK is not SLURM_PROCID
        {**TORCHRUN, "WORLD_SIZE": "12", "RANK": "7"},  # four ranks on the other node
        {**TORCHRUN, "WORLD_SIZE": "20", "GROUP_WORLD_SIZE": "3", "RANK": "5"},  # in the middle: anywhere
        {"RANK": "1", "WORLD_SIZE": "2", "MASTER_PORT": "23456"},  # PyTorchJob, per node
        {**TASK, "RANK": "5", "LOCAL_RANK": "1", "WORLD_SIZE": "8"},
        {**TASK, "RANK": "0", "WORLD_SIZE": "1"},  # each task by itself
        {"SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NTASKS": "8", "RANK": "3", "WORLD_SIZE": "8"},
    ],
)
def test_passes(variables):
    result, found = run(launch=Launch(variables=variables), gpus=gpus(8))
    assert result.status is CheckStatus.PASSED, found


def mpi(size, rank, **variables):
    return {"OMPI_COMM_WORLD_SIZE": str(size), "OMPI_COMM_WORLD_RANK": str(rank), **variables}


def torchrun_in_each(here, **variables):
    own = {
        "TORCHELASTIC_RUN_ID": "none",
        "RANK": "1",
        "LOCAL_RANK": "1",
        "WORLD_SIZE": "4",
        "LOCAL_WORLD_SIZE": "4",
    }
    return mpi(here, 0, OMPI_COMM_WORLD_LOCAL_SIZE=str(here), **{**own, **variables})


@pytest.mark.parametrize(
    ("variables", "says"),
    [
        (mpi(4, 3, WORLD_SIZE="8", RANK="3", LOCAL_WORLD_SIZE="8"), "mpirun started 4 processes"),
        (mpi(4, 3, WORLD_SIZE="6", RANK="3"), "WORLD_SIZE is 6"),
        (mpi(8, 5, WORLD_SIZE="8", RANK="0"), "RANK is 0 in the process whose OMPI_COMM_WORLD_RANK is 5"),
        (mpi(8, 5, WORLD_SIZE="8", RANK="5"), ""),
        (mpi(2, 1, WORLD_SIZE="16", RANK="9", LOCAL_WORLD_SIZE="8"), ""),  # a launcher in each process
        (mpi(2, 1, WORLD_SIZE="16", RANK="9", GROUP_RANK="1"), ""),  # torchrun
        (mpi(8, 5), ""),
        (
            mpi(8, 5, WORLD_SIZE="8", RANK="5", LOCAL_RANK="0", OMPI_COMM_WORLD_LOCAL_RANK="1"),
            "LOCAL_RANK is 0 in",
        ),
        ({"PMI_SIZE": "8", "PMI_RANK": "5", "WORLD_SIZE": "8", "RANK": "0"}, "whose PMI_RANK is 5"),
        ({"PMI_SIZE": "1", "PMI_RANK": "0", "WORLD_SIZE": "8", "RANK": "3"}, ""),
        ({"MV2_COMM_WORLD_SIZE": "4", "WORLD_SIZE": "6"}, "mpirun started 4 processes (MV2_COMM_WORLD_SIZE)"),
        (torchrun_in_each(4), "in each torchrun starts 4 ranks: 16 processes, of which 4 have the same RANK"),
        (torchrun_in_each(1), ""),
        (torchrun_in_each(4, LOCAL_WORLD_SIZE="2"), ""),  # each of them may have two GPUs of its own
    ],
)
def test_mpiruns_ranks(variables, says):
    _, found = run(launch=Launch(variables=variables))
    assert [says in finding.message for finding in found] == [True] * bool(says)


def test_more_ranks_than_gpus_for_torchruns_own_variable():
    facts = {"gpus": gpus(4), "launch": Launch(variables={"PET_NPROC_PER_NODE": "8"})}
    _, [finding] = run(**facts)
    assert finding.message.startswith("PET_NPROC_PER_NODE is 8, and 4 GPUs are visible")
    for value in ("auto", "4"):
        launch = Launch(variables={"PET_NPROC_PER_NODE": value})
        assert run(**{**facts, "launch": launch})[0].status is CheckStatus.PASSED


def test_a_gpu_for_each_rank():
    variables = {"LOCAL_WORLD_SIZE": "8", "LOCAL_RANK": "0", "WORLD_SIZE": "8", "RANK": "0"}
    pci = Pci(nvidia=[PciDevice(address=f"0000:{n:02x}:00.0", device_class="0x0302") for n in range(8)])
    assert run(launch=Launch(variables=variables), gpus=gpus(1), pci=pci)[0].status is CheckStatus.PASSED


def reports(*variables):
    return Ranks(each=[Rank.of(f"r{n}.json", [Launch(variables=v)]) for n, v in enumerate(variables)])


@pytest.mark.parametrize(
    ("first", "second", "says"),
    [
        ({"RANK": "0"}, {"RANK": "0"}, "RANK is 0 in r0.json and in r1.json"),
        ({"RANK": "0"}, {"RANK": "1", "WORLD_SIZE": "4"}, "WORLD_SIZE is 2 in r0.json and 4 in r1.json"),
        (
            {"RANK": "0", "MASTER_PORT": "29500"},
            {"RANK": "1", "MASTER_PORT": "29501"},
            "MASTER_PORT is 29500 in",
        ),
        ({"RANK": "0"}, {"RANK": "1"}, ""),
        ({"RANK": "0", "OMP_NUM_THREADS": "4"}, {"RANK": "1", "OMP_NUM_THREADS": "8"}, ""),
    ],
)
def test_reports_of_several_ranks(first, second, says):
    two = [{"WORLD_SIZE": "2", **variables} for variables in (first, second)]
    _, found = run(launch=Launch(variables=two[0]), ranks=reports(*two))
    assert [says in finding.message for finding in found] == [True] * bool(says)


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN
