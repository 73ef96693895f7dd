"""gpu-retired-pages: seen in what NVML tells."""

from gpudoctor.facts import Gpu, Gpus, Pci
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("gpu-retired-pages")


def run(*devices, **facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": Gpus(devices=list(devices)), **facts}))


def test_found():
    _, [pending] = run(Gpu(index=0, name="V100", retired_pages=1, retired_pages_pending=True))
    assert "still in use until the driver is loaded again" in pending.message
    _, [many] = run(Gpu(index=0, name="V100", retired_pages=11, retired_pages_pending=True))
    assert "11 pages of memory were taken out of use" in many.message
    assert many.severity is Severity.WARNING
    _, [full] = run(Gpu(index=0, name="V100", retired_pages=60))
    assert full.severity is Severity.ERROR


def test_passes():
    for gpu in (
        Gpu(index=0, name="V100", retired_pages=10, retired_pages_pending=False),
        Gpu(index=0, name="H100"),
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
