"""omp-threads: a number of threads that is none, or too large."""

import pytest

from gpudoctor.facts import Host, Launch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("omp-threads")
HOST = Host(cpus=64, cpus_usable=64)


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def launch(threads, ranks="8", **more):
    return Launch(variables={"OMP_NUM_THREADS": threads, "LOCAL_WORLD_SIZE": ranks, **more})


@pytest.mark.parametrize("threads", ["0", "all", "4x", "-1", "2.5"])
def test_no_number(threads):
    _, [finding] = run(launch=launch(threads), host=HOST)
    assert finding.message.startswith(f"OMP_NUM_THREADS={threads} is no number of threads")


def test_more_than_the_processors_of_all_ranks():
    _, [finding] = run(launch=launch("32"), host=HOST)
    assert "8 ranks on this machine start up to 256 threads for 64 processors" in finding.message
    assert finding.fixes[0].command == "export OMP_NUM_THREADS=8"


def test_more_than_this_process_may_use():
    _, [finding] = run(launch=launch("16", "1"), host=Host(cpus=64, cpus_usable=8))
    assert "8 processors may be used here" in finding.message
    assert finding.fixes[0].command == "export OMP_NUM_THREADS=8"


def test_one_process_with_the_whole_machine_is_a_note():
    _, [finding] = run(launch=launch("64", "1"), host=Host(cpus=4, cpus_usable=4))
    assert finding.severity is Severity.NOTE
    assert "torch with MKL starts no more threads" in finding.message


def test_unset_with_several_ranks_is_a_note():
    _, [finding] = run(launch=Launch(variables={"LOCAL_WORLD_SIZE": "8"}), host=HOST)
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize(
    ("variables", "known"),
    [
        (launch("1"), HOST),
        (launch("8"), HOST),
        (launch("12"), HOST),  # torchrun --numa-binding: half of the machine for four of eight ranks
        (launch("12"), Host(cpus=128, cpus_usable=64)),
        (launch("4,2"), HOST),
        (launch("16", SLURM_CPUS_PER_TASK="16"), Host(cpus=8, cpus_usable=8)),
        (launch("16"), None),
        (Launch(), HOST),
        (Launch(variables={"LOCAL_WORLD_SIZE": "8"}), Host(cpus=64, cpus_usable=8)),
    ],
)
def test_passes(variables, known):
    facts = {"launch": variables} | ({"host": known} if known else {})
    assert run(**facts)[0].status is CheckStatus.PASSED


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN
