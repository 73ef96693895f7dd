"""``sysctl``, ``cpupower`` and files of ``/sys`` and ``/proc`` -> how the kernel handles memory and clocks."""

import re
from collections.abc import Iterable
from typing import Any

from gpudoctor.facts import Host, Numa
from gpudoctor.importers.shell_prompt import without_prompt

_BALANCING = re.compile(
    r"(?:(?:kernel\.|/proc/sys/kernel/)numa_balancing)\s{0,4}(?:=|:|is(?: set to)?)\s{0,4}(?P<value>[0-3])$"
)
# "cat FILE", or as "grep . FILE" prints it: the file's name, a colon and what it holds
_FILE = re.compile(
    r"(?:cat (?:-\w )?|(?:sudo )?(?:more|head) |grep \S{1,4} )?"
    r"/(?:sys/devices/system/(?:cpu/cpu(?:\d{1,5}|\*|\{[\d.,]{1,20}\})/cpufreq|cpu/cpufreq/policy(?:\d{1,5}|\*)|clocksource/clocksource0)|proc/sys/kernel)/"
    r"(?P<file>scaling_governor|scaling_driver|current_clocksource|numa_balancing)"
    r"(?:: ?(?P<value>[\w-]{1,30})|(?P<counted>\s{0,2}\|\s{0,2}sort\b.{0,40})?)$"
)
_ANSWER = re.compile(r"(?:(?P<times>\d{1,5}) )?(?P<value>[a-z][\w-]{1,30}|[0-3])$")
# of cpupower: 'The governor "powersave" may decide which speed to use', "driver: intel_pstate"
_GOVERNOR = re.compile(r"The governor [\"'](?P<value>[a-z_]{3,20})[\"'] may decide")
_DRIVER = re.compile(r"driver: (?P<value>intel_\w{3,20}|amd[-_]pstate[\w-]{0,10}|acpi-cpufreq|cppc_cpufreq)$")
_GOVERNORS = frozenset(("performance", "powersave", "schedutil", "ondemand", "conservative", "userspace"))
_MOST = 4096


def read(lines: Iterable[str]) -> Host | None:
    """Read the settings; ``None`` where there are none.

    ``kernel.numa_balancing = 1``, ``$ cat /sys/devices/system/cpu/cpu0/cpufreq/scaling_governor`` and below it
    ``powersave``
    """
    found: dict[str, Any] = {}
    governors: dict[str, int] = {}
    asked = ""
    for line in lines:
        if asked and line and (answer := _ANSWER.match(line[:60])):
            if not _told(found, governors, asked, answer["value"], int(answer["times"] or 1)):
                asked = ""
            continue
        asked = ""
        if "numa_balancing" in line[:200] and (match := _BALANCING.match(without_prompt(line[:200]))):
            found.setdefault("balancing", match["value"] != "0")
        elif (
            line[-40:].count("_") and "/" in line[:200] and (match := _FILE.match(without_prompt(line[:200])))
        ):
            if match["value"]:
                _told(found, governors, match["file"], match["value"], 1)
            else:
                asked = match["file"]
        elif line.startswith("The governor ") and (match := _GOVERNOR.match(line[:80])):
            _told(found, governors, "scaling_governor", match["value"], 1)
        elif line.startswith("driver: ") and (match := _DRIVER.match(line[:60])):
            found.setdefault("governor_driver", match["value"])
    if governors:
        found["governors"] = governors
    return Host(numa=Numa(**found)) if found else None


def _told(found: dict[str, Any], governors: dict[str, int], file: str, value: str, times: int) -> bool:
    """Add what a file holds; false where that is no such value."""
    if file == "scaling_governor" and value in _GOVERNORS:
        governors[value] = min(governors.get(value, 0) + times, _MOST)
    elif file == "scaling_driver" and not value.isdecimal():
        found.setdefault("governor_driver", value)
    elif file == "current_clocksource" and not value.isdecimal():
        found.setdefault("clocksource", value)
    elif file == "numa_balancing" and value.isdecimal():
        found.setdefault("balancing", value != "0")
    else:
        return False
    return True
