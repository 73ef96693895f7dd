"""``timedatectl``, ``chronyc tracking``, ``ntpq -p`` and ``ntpstat`` -> whether a machine's clock is right."""

import re
from collections.abc import Iterable

from gpudoctor.facts import Clock

_SYNCHRONIZED = re.compile(r"(?:System clock synchronized|NTP synchronized): (?P<answer>yes|no)$")
_STATED = re.compile(r"(?P<not>un)?synchroni[sz]ed(?: to |$)")  # ntpstat's first word
# chronyc tracking: "System time     : 3.214098215 seconds slow of NTP time"
_OFFSET = re.compile(
    r"System time\s{1,10}: (?P<seconds>\d{1,9}\.\d{1,12}) seconds (?P<way>slow|fast) of NTP time$"
)
_LEAP = re.compile(r"Leap status\s{1,10}: (?P<status>Normal|Not synchronised|Insert second|Delete second)$")


def read(lines: Iterable[str]) -> Clock | None:
    """Read what the tools say; ``None`` where none of them does.

    ``System clock synchronized: no``, ``System time     : 3.2140 seconds slow of NTP time``
    """
    synchronized: bool | None = None
    offset: float | None = None
    said = ""
    for line in lines:
        if line.endswith(("yes", "no")) and (match := _SYNCHRONIZED.match(line[:60])):
            synchronized = match["answer"] == "yes"
        elif line[:4] in ("unsy", "sync") and (match := _STATED.match(line[:80])):
            synchronized = not match["not"]
        elif line.startswith("Leap status") and (match := _LEAP.match(line[:60])):
            synchronized = match["status"] != "Not synchronised"
        elif line.startswith("System time") and (match := _OFFSET.match(line[:80])):
            offset = float(match["seconds"]) * (1 if match["way"] == "fast" else -1)
        else:
            continue
        if not said or synchronized is False:
            said = line[:120]
    return (
        None
        if synchronized is None and offset is None
        else Clock(synchronized=synchronized, offset_seconds=offset, said=said)
    )
