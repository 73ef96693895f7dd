"""gpu-hot: seen in what NVML tells."""

import pytest

from gpudoctor.facts import Gpu, Gpus, Pci
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("gpu-hot")


def run(*devices, **facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": Gpus(devices=list(devices)), **facts}))


def one(**fields):
    return Gpu(index=0, name="A100", **fields)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"temperature_celsius": 90, "temperature_margin_celsius": -3}, "90 °C, 3 °C above the slowdown"),
        ({"temperature_celsius": 82, "temperature_margin_celsius": 5}, "82 °C, 5 °C below the slowdown"),
        ({"temperature_margin_celsius": 0}, "at the slowdown"),
        ({"temperature_celsius": 95}, "95 °C"),
        ({"temperature_celsius": 60, "memory_temperature_celsius": 106}, "its memory has 106 °C"),
        (
            {
                "temperature_celsius": 60,
                "memory_temperature_celsius": 95,
                "memory_temperature_max_celsius": 95,
            },
            "its memory has 95 °C",
        ),
    ],
)
def test_found(fields, words):
    _, [finding] = run(one(**fields))
    assert words in finding.message
    assert finding.severity is Severity.WARNING


def test_unknown_without_a_temperature():
    result, _ = run(one())
    assert result.status is CheckStatus.UNKNOWN


def test_passes():
    for gpu in (
        one(temperature_celsius=80, temperature_margin_celsius=6),
        one(temperature_celsius=85, memory_temperature_celsius=90),
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
