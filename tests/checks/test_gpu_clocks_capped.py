"""gpu-clocks-capped: seen in what NVML tells."""

import pytest

from gpudoctor.facts import Gpu, Gpus, Pci
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("gpu-clocks-capped")


def run(*devices, **facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": Gpus(devices=list(devices)), **facts}))


def one(**fields):
    return Gpu(
        index=0,
        name="A100",
        **{"sm_clock_mhz": 1200, "sm_clock_max_mhz": 1410, "throttle_reasons": [], **fields},
    )


SET = {"sm_clock_application_mhz": 1005, "sm_clock_application_default_mhz": 1095}
DEFAULT = {"sm_clock_application_mhz": 1095, "sm_clock_application_default_mhz": 1095}
SETTING = ["applications_clocks_setting"]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        (SET, "application clock 1005 MHz, 1095 by default"),
        ({**SET, "throttle_reasons": ["gpu_idle"]}, "application clock 1005 MHz"),
        ({"throttle_reasons": SETTING}, "1200 of 1410 MHz"),
        ({**DEFAULT, "throttle_reasons": SETTING, "sm_clock_mhz": 900}, "900 of 1095 MHz"),
        ({"utilization_percent": 99, "capability": "8.0"}, "1200 of 1410 MHz under load"),
        ({"utilization_percent": 99, "sm_clock_mhz": 900}, "900 of 1410 MHz under load"),
    ],
)
def test_found(fields, words):
    _, [finding] = run(one(**fields))
    assert words in finding.message
    assert finding.severity is Severity.WARNING


def test_unknown_without_clocks():
    result, _ = run(Gpu(index=0, name="A100"))
    assert result.status is CheckStatus.UNKNOWN


def test_passes():
    for gpu in (
        one(throttle_reasons=["gpu_idle"], sm_clock_mhz=210),
        one(throttle_reasons=["sw_power_cap"], sm_clock_mhz=900, utilization_percent=100),
        one(**DEFAULT, throttle_reasons=SETTING, sm_clock_max_mhz=1590, sm_clock_mhz=1095),
        one(utilization_percent=100),
        one(utilization_percent=100, capability="8.0", sm_clock_mhz=1380),
        one(throttle_reasons=None, sm_clock_mhz=300),
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


def idle(index, most):
    return Gpu(
        index=index, name="A10", sm_clock_mhz=210, sm_clock_max_mhz=most, throttle_reasons=["gpu_idle"]
    )


def test_a_gpu_that_cannot_reach_the_clock_of_its_siblings():
    slow, fast = idle(0, 705), idle(1, 1695)
    _, [finding] = run(slow, fast)
    assert "705 MHz at most, 1695 of others of the same model" in finding.message
    assert run(idle(0, 1650), fast)[1] == []
