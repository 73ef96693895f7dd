"""gpu-throttled: seen in logs."""

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
