"""rank-device-unset: ranks on one GPU."""

import pytest

from gpudoctor.facts import Gpu, GpuProcess, Gpus, Process, Processes
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("rank-device-unset")
RANKS = Processes(ranks=[Process(pid=n, name="python", rank=str(n), local_rank=str(n)) for n in range(4)])


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def gpus(*pids):
    return Gpus(
        devices=[
            Gpu(index=n, processes=[GpuProcess(pid=pid) for pid in held] if held is not None else None)
            for n, held in enumerate(pids)
        ]
    )


def test_all_on_the_first():
    _, [finding] = run(gpus=gpus([0, 1, 2, 3], [], [], []), processes=RANKS)
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("ranks 0, 1, 2, 3 all work on GPU 0, and the other 3 have none")


def test_all_on_the_first_too():
    _, [finding] = run(gpus=gpus([0, 1, 2, 3], [1], [2], [3]), processes=RANKS)
    assert "besides their own" in finding.message


@pytest.mark.parametrize(
    "held",
    [([0], [1], [2], [3]), ([], [], [], []), ([0, 77, 78], [], [], []), ([0, 1], [2, 3]), ([0, 1, 2, 3],)],
)
def test_passes(held):
    assert run(gpus=gpus(*held), processes=RANKS)[0].status is CheckStatus.PASSED


def test_unknown():
    assert run()[0].status is CheckStatus.UNKNOWN
    assert run(gpus=gpus([0], None), processes=RANKS)[0].status is CheckStatus.UNKNOWN
