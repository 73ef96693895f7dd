"""The processors run below their full clock.

## What happens

What the CPU does between two steps of a GPU takes longer: launching kernels, loading data. Small models feel it most.

## Why

The governor of the kernel's frequency scaling decides on the clock. `powersave` of acpi-cpufreq keeps the lowest one
always; with intel_pstate and amd-pstate-epp the same word means "as needed", and a core that was idle takes a moment to
come up to its clock. Where speed counts more than power, `performance` is set.

## How to tell

`cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor | sort | uniq -c`, and `scaling_driver` beside it. A virtual
machine has no such files: its host decides.

## See also

- [Linux: CPU performance scaling](https://docs.kernel.org/admin-guide/pm/cpufreq.html): what each governor does
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, count
from gpudoctor.facts import Gpus, Host

# Drivers whose powersave follows the load (admin-guide/pm/intel_pstate.rst, amd-pstate.rst).
AS_NEEDED = ("intel_pstate", "amd-pstate-epp", "amd_pstate_epp")
SLOW = ("powersave", "conservative", "userspace")
SERVER = 4

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
    """A governor keeps processors of a machine with GPUs at a low clock."""
    numa = host.numa
    if numa is None or gpus is None or not gpus.devices:
        return
    slow = {governor: n for governor, n in numa.governors.items() if governor in SLOW}
    if not slow or (numa.governor_driver in AS_NEEDED and len(gpus.devices) < SERVER):
        return
    governor, number = max(slow.items(), key=lambda pair: pair[1])
    driver = f" ({numa.governor_driver})" if numa.governor_driver else ""
    waits = (
        "they wake up slowly" if numa.governor_driver in AS_NEEDED else "they may stay at their lowest clock"
    )
    message = f"{count(number, 'processor')} of {sum(numa.governors.values())} run under the governor {governor}{driver}: {waits}"
    yield check.found(message)
