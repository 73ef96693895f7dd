"""gpu-throttled: seen in logs, and in what NVML tells."""

import pytest

from gpudoctor.facts import DeviceSpeed, Gpu, Gpus, Measurements, Pci
from gpudoctor.guard import examine
from gpudoctor.model import Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("gpu-throttled")
MESSAGE = "the hardware slows a GPU down to protect it (HW Thermal Slowdown): all ranks wait for the slowest"
EXAMPLES = {
    "        HW Thermal Slowdown               : Active": MESSAGE,
    "            HW Power Brake Slowdown       : Active": (
        "the hardware slows a GPU down to protect it (HW Power Brake Slowdown): all ranks wait for the slowest"
    ),
    (
        "    Clocks Throttle Reasons\n        Idle                              : Not Active\n"
        "        HW Slowdown                       : Active"
    ): "the hardware slows a GPU down to protect it (HW Slowdown): all ranks wait for the slowest",
    "gpu 2: HW Thermal Slowdown is engaged (nvml)": MESSAGE,
    "Thermal: 'Detected clocks event due to thermal violation in GPU 5. Verify that the cooling works'": (
        "the hardware slows a GPU down to protect it (thermal): all ranks wait for the slowest"
    ),
    "clocks_event_reasons.sw_thermal_slowdown: Active": (
        "the hardware slows a GPU down to protect it (sw_thermal_slowdown): all ranks wait for the slowest"
    ),
    "clocks_event_reasons.active = 0x0000000000000048": (
        "the hardware slows a GPU down to protect it (HW Slowdown, HW Thermal Slowdown): all ranks wait for "
        "the slowest"
    ),
    'DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{gpu="3",Hostname="node0"} 72': (
        "the hardware slows a GPU down to protect it (HW Slowdown, HW Thermal Slowdown): all ranks wait for "
        "the slowest"
    ),
    "DCGM_FR_CLOCKS_EVENT_THERMAL": (
        "the hardware slows a GPU down to protect it (THERMAL): all ranks wait for the slowest"
    ),
    "Clocks are being throttled due to thermal violation on GPU 3": (
        "the hardware slows a GPU down to protect it (thermal): all ranks wait for the slowest"
    ),
    "hw slowdown events frequency per minute 1.00 (total events per minute count 10) exceeded threshold 0.60": (
        "the hardware slows a GPU down to protect it: all ranks wait for the slowest"
    ),
}
NOT_THIS = [
    "        HW Slowdown                       : Not Active",
    "        SW Power Cap                      : Active",
    "        Idle                              : Active",
    "clocks_event_reasons.active = 0x0000000000000004",
    'DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{gpu="3",Hostname="node0"} 1',
    "        GPU Slowdown Temp                 : 97 C",
    "mce: CPU3: Core temperature above threshold, cpu clock throttled",
    "sched: RT throttling activated",
]


def run(*devices, **facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"gpus": Gpus(devices=list(devices)), **facts}))


@pytest.mark.parametrize(
    ("reasons", "words"),
    [
        (["hw_slowdown"], "heat or power (HW Slowdown)"),
        (["hw_slowdown", "hw_thermal_slowdown"], "heat (HW Thermal Slowdown)"),
        (["hw_power_brake_slowdown"], "the server asks for less power"),
        (["sw_thermal_slowdown", "sw_power_cap"], "heat (SW Thermal Slowdown)"),
    ],
)
def test_found_in_the_reasons(reasons, words):
    _, [finding] = run(
        Gpu(index=0, name="H100", throttle_reasons=[]), Gpu(index=1, name="H100", throttle_reasons=reasons)
    )
    assert finding.message.startswith("GPU 1 is slowed down to protect the hardware")
    assert words in finding.message


def test_passes():
    for reasons in ([], ["gpu_idle"], ["sw_power_cap"], ["applications_clocks_setting"], ["sync_boost"]):
        result, _ = run(Gpu(index=0, name="H100", throttle_reasons=reasons))
        assert result.status is CheckStatus.PASSED


def test_unknown_without_reasons():
    result, _ = run(Gpu(index=0, name="H100"))
    assert result.status is CheckStatus.UNKNOWN


def test_unknown_where_nvml_says_nothing():
    for facts in ({}, {"gpus": Gpus(error="Unknown Error", error_code=999)}):
        result, _ = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
        assert result.status is CheckStatus.UNKNOWN


def test_passes_without_a_gpu_on_the_bus():
    result, _ = run(gpus=Gpus(error="NVML Shared Library Not Found", error_code=12), pci=Pci())
    assert result.status is CheckStatus.PASSED


@pytest.mark.parametrize(
    ("violations", "says"),
    [
        ({"thermal": 0.35, "power": 1.0}, "GPU 3: heat held its clocks down for 35 % of the time"),
        ({"board_limit": 0.2}, "GPU 3: the board's limit"),
        ({"thermal": 0.02, "power": 1.0}, ""),
    ],
)
def test_under_load(violations, says):
    speed = DeviceSpeed(ordinal=3, violations=violations)
    idle = Gpu(index=3, name="NVIDIA L40S", throttle_reasons=["gpu_idle"])
    found = run(idle, measurements=Measurements(devices=[speed]))[1]
    assert [says in finding.message for finding in found] == [True] * bool(says)
