"""gpu-inforom-corrupt: seen in what NVML tells."""

from gpudoctor.facts import Gpu, Gpus, Pci
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("gpu-inforom-corrupt")
EXAMPLES = {
    "WARNING: infoROM is corrupted at gpu 0000:41:00.0": (
        "the InfoROM of the GPU at 0000:41:00.0 is corrupt: its counters of memory errors cannot be relied on"
    ),
    "nvidia-smi reports that infoROM is corrupted, training goes on": (
        "the InfoROM of the GPU is corrupt: its counters of memory errors cannot be relied on"
    ),
}
NOT_THIS = ["Exits with 14 if infoROM is corrupted"]


def run(*devices, **facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": Gpus(devices=list(devices)), **facts}))


def test_found():
    _, [finding] = run(Gpu(index=0, name="A100", inforom="corrupt"))
    assert finding.message.startswith("the InfoROM of GPU 0 is corrupt")
    assert finding.severity is Severity.WARNING


def test_passes():
    for gpu in (Gpu(index=0, name="A100", inforom="valid"), Gpu(index=0, name="H100", inforom=None)):
        result, _ = run(gpu)
        assert result.status is CheckStatus.PASSED


def test_unknown_where_nvml_says_nothing():
    for facts in ({}, {"gpus": Gpus(error="Unknown Error", error_code=999)}):
        result, _ = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
        assert result.status is CheckStatus.UNKNOWN


def test_passes_without_a_gpu_on_the_bus():
    result, _ = run(gpus=Gpus(error="NVML Shared Library Not Found", error_code=12), pci=Pci())
    assert result.status is CheckStatus.PASSED
