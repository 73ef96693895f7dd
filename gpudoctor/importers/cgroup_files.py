"""``memory.events`` and ``memory.max`` of a control group, printed -> the machine."""

import re
from collections.abc import Iterable

from gpudoctor.facts import Cgroup, Host

_EVENT = re.compile(r"(?P<name>low|high|max|oom|oom_kill|oom_group_kill) (?P<count>\d{1,12})$")
_SHOWN = re.compile(r"(?:cat|head|more) \S{0,200}/memory\.max$")


def read(lines: Iterable[str]) -> Host | None:
    """Read the counters that stand together, and what stands right below the command that prints the limit.

    ``oom 3`` and below it ``oom_kill 3``
    """
    counters: dict[str, int] = {}
    limit: int | None = None
    asked = False
    for line in lines:
        if (event := _EVENT.match(line[:40])) is not None:
            counters.setdefault(event["name"], int(event["count"]))
        elif asked and line.isascii() and line.isdecimal():
            limit = int(line[:15])
        asked = "/memory.max" in line[:300] and _SHOWN.search(line[:300]) is not None
    if not {"oom", "oom_kill", "max"} <= counters.keys():
        return None
    return Host(cgroup=Cgroup(version=2, oom_kills=counters["oom_kill"], memory_max_bytes=limit))
