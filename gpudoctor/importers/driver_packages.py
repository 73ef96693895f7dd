"""``dpkg -l`` and ``rpm -qa`` -> the version of the driver's installed libraries."""

import re
from collections.abc import Iterable

_DPKG = re.compile(
    r"ii\s+(?:libcuda1|libnvidia-(?:compute|ml)[\w-]{0,20}|nvidia-(?:smi|utils|driver)[\w-]{0,24})(?::\w+)?\s+"
    r"(?P<version>\d{3}\.\d{1,3}(?:\.\d{1,3})?)-"
)
_RPM = re.compile(
    r"(?:nvidia-driver-(?:cuda-libs|NVML|libs)|libnvidia-ml|nvidia-libcuda)-(?P<version>\d{3}\.\d{1,3}(?:\.\d{1,3})?)-"
)


def version(lines: Iterable[str]) -> str | None:
    """Return the one version that the lists name; ``None`` where they name none, or several.

    ``ii  nvidia-smi     525.85.12-1  amd64``
    """
    found = {
        match["version"]
        for line in lines
        if "nvidia" in line[:60] or "libcuda1" in line[:60]
        if (match := _DPKG.match(line[:200]) or _RPM.match(line[:200]))
    }
    return found.pop() if len(found) == 1 else None
