"""Settings of the kernel in pasted texts: page balancing, frequency governors, the clock."""

import pytest

GOVERNOR = "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"


@pytest.mark.parametrize(
    ("text", "on"),
    [
        ("$ sysctl kernel.numa_balancing\nkernel.numa_balancing = 1\n", True),
        ("kernel.numa_balancing = 0\n", False),
        ("$ cat /proc/sys/kernel/numa_balancing\n1\n", True),
        ("/proc/sys/kernel/numa_balancing:0\n", False),
    ],
)
def test_balancing(text, on, facts_of):
    assert facts_of(text)["host"].numa.balancing is on


@pytest.mark.parametrize(
    ("text", "governors"),
    [
        (f"$ cat {GOVERNOR}\npowersave\n", {"powersave": 1}),
        (
            "$ cat /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor | sort | uniq -c\n    96 schedutil\n",
            {"schedutil": 96},
        ),
        (f"{GOVERNOR}:performance\n{GOVERNOR.replace('cpu0/', 'cpu1/')}:performance\n", {"performance": 2}),
        ('analyzing CPU 3:\n  The governor "ondemand" may decide which speed to use\n', {"ondemand": 1}),
    ],
)
def test_governors(text, governors, facts_of):
    assert facts_of(text)["host"].numa.governors == governors


def test_driver_and_clock(facts_of):
    text = (
        "  driver: acpi-cpufreq\n$ cat /sys/devices/system/clocksource/clocksource0/current_clocksource\nhpet\n"
        "NUMA node0 CPU(s):   0-7\n"
    )
    numa = facts_of(text)["host"].numa
    assert (numa.governor_driver, numa.clocksource, len(numa.nodes)) == ("acpi-cpufreq", "hpet", 1)


def test_what_is_offered_or_written_is_no_answer(facts_of):
    text = (
        "available cpufreq governors: performance powersave\n$ echo performance | sudo tee "
        f"{GOVERNOR}\nperformance\nRANK=0\nWORLD_SIZE=1\nMASTER_PORT=29500\n"
    )
    assert "host" not in facts_of(text)
