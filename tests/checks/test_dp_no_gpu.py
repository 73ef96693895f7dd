"""dp-no-gpu: several GPUs that torch cannot use."""

import pytest

from gpudoctor.facts import Gpu, Gpus, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("dp-no-gpu")
TWO = Gpus(devices=[Gpu(index=0), Gpu(index=1)])


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def test_found_as_a_note():
    _, [finding] = run(torch=Torch(cuda_available=False), gpus=TWO)
    assert finding.severity is Severity.NOTE
    assert "none of 2 GPUs" in finding.message


@pytest.mark.parametrize(
    "facts",
    [
        {"torch": Torch(cuda_available=True), "gpus": TWO},
        {"torch": Torch(cuda_available=False)},
        {"torch": Torch(cuda_available=False, hip="6.4"), "gpus": TWO},
        {"torch": Torch(imported=False), "gpus": TWO},
    ],
)
def test_passes(facts):
    assert run(**facts)[0].status is CheckStatus.PASSED


def test_unknown():
    assert run(gpus=TWO)[0].status is CheckStatus.UNKNOWN
