"""nofile-limit: few open files."""

import pytest

from gpudoctor.facts import Gpu, Gpus, Host, Launch, Limit
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("nofile-limit")
EIGHT = Gpus(devices=[Gpu(index=n) for n in range(8)])


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def host(soft, hard=None, **more):
    return Host(system="Linux", limits={"nofile": Limit(soft=soft, hard=hard)}, **more)


@pytest.mark.parametrize(("soft", "severity"), [(90, Severity.ERROR), (512, Severity.WARNING)])
def test_found(soft, severity):
    _, [finding] = run(host=host(soft, 4096))
    assert finding.severity is severity
    assert f"may have {soft} files open (it may be raised to 4096)" in finding.message
    assert finding.fixes[0].command == "ulimit -n $(ulimit -Hn)"


def test_the_machine_has_no_more_files_to_give():
    _, [finding] = run(host=host(65536, files_open=990_000, files_max=1_000_000))
    assert "have 990000 files open, and may have 1000000" in finding.message
    assert run(host=host(65536, files_open=700_000, files_max=1_000_000))[1] == []


def test_many_ranks_need_more():
    _, [finding] = run(host=host(1024, 4096), launch=Launch(variables={"WORLD_SIZE": "512"}))
    assert "512 ranks" in finding.message


def test_a_limit_that_cannot_be_raised():
    _, [finding] = run(host=host(512, 512, container="kubernetes"))
    assert not any("docker" in fix.command for fix in finding.fixes)
    _, [finding] = run(host=host(512, 512, container="docker"))
    assert finding.fixes[0].command.startswith("docker run --ulimit nofile=")
    _, [finding] = run(host=host(1024, 1024), gpus=EIGHT)
    assert finding.severity is Severity.NOTE


@pytest.mark.parametrize(
    "known", [host(1024, 1048576), host(None), host(20000, 20000), Host(system="Darwin")]
)
def test_passes(known):
    assert run(host=known, gpus=EIGHT)[0].status is CheckStatus.PASSED


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN
    assert run(host=Host(system="Linux"))[0].status is CheckStatus.UNKNOWN
