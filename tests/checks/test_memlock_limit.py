"""memlock-limit: a finite limit beside RDMA hardware."""

import pytest

from gpudoctor.facts import Gpu, Gpus, Host, Launch, Limit
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("memlock-limit")
GPUS = Gpus(devices=[Gpu(index=0)])
IB = {"mlx5_0": "InfiniBand"}
ROCE = {"mlx5_0": "Ethernet"}


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def host(soft=65536, rdma=IB, **more):
    return Host(limits={"memlock": Limit(soft=soft, hard=soft)}, rdma=rdma, memory_bytes=1 << 40, **more)


def test_found():
    _, [finding] = run(host=host(), gpus=GPUS)
    assert finding.severity is Severity.WARNING
    assert "may lock 64.0 KiB of memory, and mlx5_0 is RDMA hardware" in finding.message


def test_several_nodes_over_roce():
    _, [finding] = run(host=host(rdma=ROCE), gpus=GPUS, launch=Launch(variables={"GROUP_WORLD_SIZE": "2"}))
    assert finding.severity is Severity.WARNING


@pytest.mark.parametrize("known", [host(rdma=ROCE), host(capabilities=["ipc_lock"])])
def test_a_note_where_nothing_says_that_it_is_used_or_bound_by_it(known):
    _, [finding] = run(host=known, gpus=GPUS)
    assert finding.severity is Severity.NOTE


def test_the_fix_fits_the_container():
    _, [finding] = run(host=host(container="podman"), gpus=GPUS)
    assert [fix.command for fix in finding.fixes] == ["podman run --ulimit memlock=-1 IMAGE"]


@pytest.mark.parametrize("known", [host(soft=None), host(soft=1 << 38), host(rdma={}), Host()])
def test_passes(known):
    assert run(host=known, gpus=GPUS)[0].status is CheckStatus.PASSED


def test_passes_without_gpus():
    assert run(host=host(), gpus=Gpus())[0].status is CheckStatus.PASSED


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN
    assert run(host=Host(rdma=IB), gpus=GPUS)[0].status is CheckStatus.UNKNOWN
