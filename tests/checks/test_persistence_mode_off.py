"""persistence-mode-off: seen in what NVML tells."""

from gpudoctor.facts import Gpu, Gpus, Pci
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("persistence-mode-off")


def run(*devices, **facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": Gpus(devices=list(devices)), **facts}))


def test_found():
    _, [finding] = run(Gpu(index=0, name="NVIDIA H100 80GB HBM3", persistence=False))
    assert finding.message.startswith("persistence mode is off for GPU 0")
    assert finding.severity is Severity.NOTE


def test_passes():
    for gpu in (
        Gpu(index=0, name="NVIDIA H100 80GB HBM3", persistence=True),
        Gpu(index=0, name="NVIDIA H100 80GB HBM3"),
        Gpu(index=0, name="NVIDIA GeForce RTX 4090", persistence=False),
    ):
        result, _ = run(gpu)
        assert result.status is CheckStatus.PASSED


def test_unknown_where_nvml_says_nothing():
    for facts in ({}, {"gpus": Gpus(error="Unknown Error", error_code=999)}):
        result, _ = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
        assert result.status is CheckStatus.UNKNOWN


def test_passes_without_a_gpu_on_the_bus():
    result, _ = run(gpus=Gpus(error="NVML Shared Library Not Found", error_code=12), pci=Pci())
    assert result.status is CheckStatus.PASSED
