"""gpu-throttled: seen in logs."""

import pytest

from gpudoctor.logs.symptoms import matches
from gpudoctor.registry import Registry

CHECK = Registry().check("gpu-throttled")
EXAMPLES = [
    "        HW Thermal Slowdown               : Active",
    "            HW Power Brake Slowdown       : Active",
    (
        "    Clocks Throttle Reasons\n        Idle                              : Not Active\n"
        "        HW Slowdown                       : Active"
    ),
    "gpu 2: HW Thermal Slowdown is engaged (nvml)",
    "clocks_event_reasons.sw_thermal_slowdown: Active",
    "clocks_event_reasons.active = 0x0000000000000048",
    'DCGM_FI_DEV_CLOCK_THROTTLE_REASONS{gpu="3",Hostname="node0"} 72',
    "DCGM_FR_CLOCKS_EVENT_THERMAL",
    "Clocks are being throttled due to thermal violation on GPU 3",
    "hw slowdown events frequency per minute 1.00 (total events per minute count 10) exceeded threshold 0.60",
]
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


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (0, " (HW Thermal Slowdown)"),
        (5, " (HW Slowdown, HW Thermal Slowdown)"),
        (6, " (HW Slowdown, HW Thermal Slowdown)"),
        (9, ""),
    ],
)
def test_names_the_reason(number, reason):
    (seen,) = matches(EXAMPLES[number], [CHECK])
    assert (
        seen.finding.message
        == f"the hardware slows a GPU down to protect it{reason}: all ranks wait for the slowest"
    )
