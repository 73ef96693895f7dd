"""gpu-row-remap-pending: seen in what NVML tells."""

from gpudoctor.facts import Gpu, Gpus, Pci, RemappedRows
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("gpu-row-remap-pending")


def run(*devices, **facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": Gpus(devices=list(devices)), **facts}))


def test_found():
    well = Gpu(index=0, name="A100", remapped_rows=RemappedRows())
    ill = Gpu(
        index=1,
        name="A100",
        pci_address="0000:1a:00.0",
        remapped_rows=RemappedRows(correctable=1, pending=True),
    )
    _, [finding] = run(well, ill)
    assert finding.message.startswith(
        "GPU 1 (0000:1a:00.0): a failing row of memory waits for the next reset"
    )
    assert finding.severity is Severity.WARNING
    assert finding.fixes[1].command == "sudo nvidia-smi --gpu-reset -i 1"
    assert finding.fixes[0].command == "export CUDA_VISIBLE_DEVICES=0"


def test_passes():
    for gpu in (
        Gpu(index=0, name="A100", remapped_rows=RemappedRows(correctable=3)),
        Gpu(index=0, name="RTX 4090"),
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
