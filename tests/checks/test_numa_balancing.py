"""numa-balancing: the kernel moves pages."""

import pytest

from gpudoctor.facts import Gpu, Gpus, Host, Numa, NumaNode
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("numa-balancing")
GPUS = Gpus(devices=[Gpu(index=0)])


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def host(balancing, nodes=2):
    return Host(numa=Numa(balancing=balancing, nodes=[NumaNode(node=n, cpus=f"{n}") for n in range(nodes)]))


def test_found_as_a_note():
    _, [finding] = run(host=host(True), gpus=GPUS)
    assert finding.severity is Severity.NOTE
    assert "2 NUMA nodes" in finding.message


@pytest.mark.parametrize("known", [host(False), host(None), host(True, 1), Host()])
def test_passes(known):
    assert run(host=known, gpus=GPUS)[0].status is CheckStatus.PASSED


def test_passes_without_gpus():
    assert run(host=host(True), gpus=Gpus())[0].status is CheckStatus.PASSED


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN


def test_a_text_that_tells_neither_of_gpus_nor_of_nodes():
    _, [finding] = run(host=host(True, 0))
    assert finding.message.startswith("kernel.numa_balancing is on, which counts with several NUMA nodes")
