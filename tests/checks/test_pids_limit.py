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


def test_nearly_full():
    _, [finding] = run(host=host(10000, 9500))
    assert "nearly full" in finding.message


@pytest.mark.parametrize("known", [host(None, 100), host(10000, 500), Host()])
def test_passes(known):
    assert run(host=known, gpus=EIGHT)[0].status is CheckStatus.PASSED


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN
