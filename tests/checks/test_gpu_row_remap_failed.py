"""gpu-row-remap-failed: seen in what NVML tells."""

import pytest

from gpudoctor.facts import Gpu, Gpus, Pci, RemappedRows
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("gpu-row-remap-failed")


def run(*devices, **facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": Gpus(devices=list(devices)), **facts}))


def one(**rows):
    return Gpu(index=0, name="A100", remapped_rows=RemappedRows(**rows))


@pytest.mark.parametrize(
    ("rows", "words", "severity"),
    [
        ({"failed": True}, "could not be exchanged", Severity.ERROR),
        ({"banks_none": 2}, "2 banks of memory with no spare row left", Severity.WARNING),
        ({"banks_low": 3, "banks_none": 0}, "few spare rows are left in 3 banks of memory", Severity.NOTE),
        ({"uncorrectable": 513}, "513 rows", Severity.ERROR),
    ],
)
def test_found(rows, words, severity):
    _, [finding] = run(one(**rows))
    assert words in finding.message
    assert finding.severity is severity


def test_the_gpu_that_failed_is_named_before_one_that_is_worn():
    worn = Gpu(index=1, name="A100", remapped_rows=RemappedRows(banks_none=1))
    _, [finding] = run(one(failed=True), worn)
    assert finding.message.startswith("GPU 0:")
    assert [e.text[:5] for e in finding.evidence] == ["GPU 0", "GPU 1"]


def test_passes():
    for gpu in (one(uncorrectable=512, banks_low=0, banks_none=0), Gpu(index=0, name="T4")):
        result, _ = run(gpu)
        assert result.status is CheckStatus.PASSED


def test_unknown_where_nvml_says_nothing():
    for facts in ({}, {"gpus": Gpus(error="Unknown Error", error_code=999)}):
        result, _ = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
        assert result.status is CheckStatus.UNKNOWN


def test_passes_without_a_gpu_on_the_bus():
    result, _ = run(gpus=Gpus(error="NVML Shared Library Not Found", error_code=12), pci=Pci())
    assert result.status is CheckStatus.PASSED
