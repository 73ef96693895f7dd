"""The processors run below their full clock, or read the time slowly.

## What happens

What the CPU does between two steps of a GPU takes longer: launching kernels, loading data. Small models feel it most.

## Why

The governor of the kernel's frequency scaling decides on the clock. `powersave` of acpi-cpufreq keeps the lowest one
always; with intel_pstate and amd-pstate-epp the same word means "as needed", and a core that was idle takes a moment to
come up to its clock. Where speed counts more than power, `performance` is set.

The kernel reads the time from the processor itself (`tsc`) in some 20 ns. Where it found that counter unstable, it
takes one of the chipset's, `hpet` or `acpi_pm`: each reading then is a system call and a slow access to hardware, over
a microsecond, and every launch, log line and profiler reads it.

## How to tell

`cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor | sort | uniq -c`, and `scaling_driver` beside it. A virtual
machine has no such files: its host decides.
`cat /sys/devices/system/clocksource/clocksource0/current_clocksource`; `dmesg | grep -i tsc` says why it is not `tsc`.

## See also

- [Linux: CPU performance scaling](https://docs.kernel.org/admin-guide/pm/cpufreq.html): what each governor does
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, count
from gpudoctor.facts import Gpus, Host

# Drivers whose powersave follows the load (admin-guide/pm/intel_pstate.rst, amd-pstate.rst).
AS_NEEDED = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")
SLOW_CLOCKS = ("hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit")
SLOW = ("powersave", "conservative", "userspace")
SERVER = 4

WHY = Fix("See why the kernel does not take tsc", 'dmesg | grep -iE "tsc|clocksource"')
TSC = Fix(
    "Take it for this boot, where the list has it; a kernel that found it unstable may be right",
    "cat /sys/devices/system/clocksource/clocksource0/available_clocksource; "
    "echo tsc | sudo tee /sys/devices/system/clocksource/clocksource0/current_clocksource",
    Kind.ADMIN,
)

check = Check(
    severity=Severity.NOTE,
    fixes=[
        Fix(
            "On a cluster: send the administrators the node's name and this output",
            "grep . /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
        ),
        Fix(
            "Run at full clock",
            "echo performance | sudo tee /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor",
            Kind.ADMIN,
        ),
    ],
    no_reproduction="it is slow, and nothing fails",
)


@check.environment
def environment(host: Host, gpus: Gpus | None) -> Iterator[Finding]:
    """A governor keeps processors of a machine with GPUs at a low clock, or the time comes from a slow clock."""
    numa = host.numa
    if numa is None or (gpus is not None and not gpus.devices):
        return  # GPUs that nobody tells of may be there
    if numa.clocksource in SLOW_CLOCKS:
        message = (
            f"the kernel reads the time from {numa.clocksource} and not from the processor (tsc): each reading takes over a "
            "microsecond, and launches and logs read it all the time"
        )
        yield check.found(message, fixes=[WHY, TSC])
    slow = {governor: n for governor, n in numa.governors.items() if governor in SLOW}
    few = gpus is not None and len(gpus.devices) < SERVER
    if not slow or (numa.governor_driver in AS_NEEDED and few):
        return
    governor, number = max(slow.items(), key=lambda pair: pair[1])
    driver = f" ({numa.governor_driver})" if numa.governor_driver else ""
    waits = (
        "they wake up slowly" if numa.governor_driver in AS_NEEDED else "they may stay at their lowest clock"
    )
    message = f"{count(number, 'processor')} of {sum(numa.governors.values())} run under the governor {governor}{driver}: {waits}"
    yield check.found(message)
