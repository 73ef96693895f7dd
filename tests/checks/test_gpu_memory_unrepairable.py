"""gpu-memory-unrepairable: seen in what NVML tells."""

from gpudoctor.facts import Gpu, Gpus, Pci
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("gpu-memory-unrepairable")


def run(*devices, **facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": Gpus(devices=list(devices)), **facts}))


def test_found():
    _, [finding] = run(Gpu(index=0, name="B200"), Gpu(index=1, name="B200", memory_unrepairable=True))
    assert finding.message.startswith("GPU 1: memory that cannot be repaired")
    assert finding.fixes[0].command == "export CUDA_VISIBLE_DEVICES=0"
    assert finding.severity is Severity.ERROR


def test_passes():
    for gpu in (Gpu(index=0, name="B200", memory_unrepairable=False), Gpu(index=0, name="A100")):
        result, _ = run(gpu)
        assert result.status is CheckStatus.PASSED


def test_unknown_where_nvml_says_nothing():
    for facts in ({}, {"gpus": Gpus(error="Unknown Error", error_code=999)}):
        result, _ = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
        assert result.status is CheckStatus.UNKNOWN


def test_passes_without_a_gpu_on_the_bus():
    result, _ = run(gpus=Gpus(error="NVML Shared Library Not Found", error_code=12), pci=Pci())
    assert result.status is CheckStatus.PASSED
