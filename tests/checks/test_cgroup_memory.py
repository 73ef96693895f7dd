"""cgroup-memory: a small limit, or one that is nearly reached."""

import pytest

from gpudoctor.facts import Cgroup, Gpu, Gpus, Host, Launch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("cgroup-memory")
GIB = 1 << 30
EIGHT = Gpus(devices=[Gpu(index=n) for n in range(8)])


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def host(limit, used=0, memory=1024 * GIB, free=900 * GIB, **more):
    group = Cgroup(version=2, memory_max_bytes=limit, memory_used_bytes=used)
    return Host(cgroup=group, memory_bytes=memory, memory_available_bytes=free, **more)


def test_less_than_the_ranks_take():
    _, [finding] = run(host=host(4 * GIB, container="kubernetes"), gpus=EIGHT)
    assert finding.severity is Severity.WARNING
    assert "may use 4.0 GiB of memory, and 8 ranks need about 8.0 GiB" in finding.message
    assert finding.fixes[0].command.startswith("resources:")


def test_slurms_fix():
    _, [finding] = run(host=host(256 << 20), launch=Launch(variables={"SLURM_JOB_ID": "1"}))
    assert finding.fixes[0].command == "sbatch --mem=0 job.sh"


def test_nearly_reached():
    _, [finding] = run(host=host(64 * GIB, 60 * GIB))
    assert "uses 60.0 GiB of the 64.0 GiB" in finding.message


def test_slowed_down_above_the_high_mark():
    def slowed(used, times):
        group = Cgroup(memory_high_bytes=8 * GIB, memory_used_bytes=used, memory_throttled=times)
        return run(host=Host(cgroup=group, memory_bytes=1024 * GIB, memory_available_bytes=900 * GIB))

    _, [finding] = slowed(8 * GIB, 91)
    assert "above 8.0 GiB (memory.high) the kernel slows its processes down" in finding.message
    for used, times in ((8 * GIB, 0), (2 * GIB, 91)):
        assert slowed(used, times)[0].status is CheckStatus.PASSED


def test_the_machines_memory_is_used_up():
    _, [finding] = run(host=host(None, free=5 * GIB), gpus=EIGHT)
    assert "5.0 GiB of this machine's 1.0 TiB" in finding.message


@pytest.mark.parametrize(
    "known",
    [host(None), host(64 * GIB, 30 * GIB), host(1 << 50), host(None, memory=16 * GIB, free=8 * GIB), Host()],
)
def test_passes(known):
    assert run(host=known, gpus=EIGHT)[0].status is CheckStatus.PASSED


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN
