"""pids-limit: a small pids.max."""

import pytest

from gpudoctor.facts import Cgroup, Gpu, Gpus, Host, Launch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("pids-limit")
EIGHT = Gpus(devices=[Gpu(index=n) for n in range(8)])


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def host(most, now, **more):
    return Host(cgroup=Cgroup(version=2, pids_max=most, pids_current=now), cpus=64, cpus_usable=64, **more)


def test_no_room_for_the_ranks():
    _, [finding] = run(host=host(100, 60, container="docker"), gpus=EIGHT)
    assert finding.severity is Severity.ERROR
    assert "may hold 100 threads and processes, and has 60: 8 ranks may need 168" in finding.message
    assert finding.fixes[0].command == "docker run --pids-limit=-1 IMAGE"


def test_threads_of_openmp_count():
    _, [finding] = run(host=host(100, 20), launch=Launch(variables={"OMP_NUM_THREADS": "64"}))
    assert finding.severity is Severity.WARNING


def test_a_slurm_job_is_not_in_the_slice_of_the_logins():
    launch = Launch(variables={"SLURM_JOB_ID": "7", "OMP_NUM_THREADS": "64"})
    _, [finding] = run(host=host(100, 20), launch=launch)
    assert [fix.command for fix in finding.fixes] == ["export OMP_NUM_THREADS=1"]


def test_nearly_full():
    _, [finding] = run(host=host(10000, 9500))
    assert "nearly full" in finding.message


@pytest.mark.parametrize("known", [host(None, 100), host(10000, 500), Host()])
def test_passes(known):
    assert run(host=known, gpus=EIGHT)[0].status is CheckStatus.PASSED


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN


@pytest.mark.parametrize(
    ("fields", "severity", "says"),
    [
        (
            {"pid_max": 700, "threads_max": 250000, "threads": 650},
            Severity.ERROR,
            "of all users (kernel.pid_max), and has 650",
        ),
        (
            {"pid_max": 4194304, "threads_max": 900, "threads": 300},
            Severity.WARNING,
            "(kernel.threads-max), and the kernel's own default is 4096",
        ),
        (
            {"pid_max": 2000, "threads_max": 250000, "threads": 300},
            Severity.WARNING,
            "(kernel.pid_max), and the kernel's own default is 32768",
        ),
        (
            {"pid_max": 4194304, "threads_max": 1000, "threads": 910},
            Severity.WARNING,
            "(kernel.threads-max), and has 910",
        ),
    ],
)
def test_the_limit_of_the_whole_machine(fields, severity, says):
    _, [finding] = run(host=Host(cpus=64, cpus_usable=64, **fields), gpus=EIGHT)
    assert finding.severity is severity
    assert says in finding.message
    assert says.partition("(")[2].partition(")")[0] in finding.fixes[0].command


@pytest.mark.parametrize(
    "fields",
    [{"pid_max": 32768, "threads_max": 250000, "threads": 2400}, {"pid_max": 40000}, {"threads": 300}],
)
def test_a_machine_with_room(fields):
    assert run(host=Host(cpus=64, cpus_usable=64, **fields), gpus=EIGHT)[1] == []
