"""``nvcc --version`` in a text -> the CUDA toolkit that compiles."""

import re
from collections.abc import Iterable

from gpudoctor.facts import Toolkit

_RELEASE = re.compile(
    r"Cuda compilation tools, release (?P<short>\d{1,2}\.\d{1,2})(?:, V(?P<version>\d{1,2}\.\d{1,2}\.\d{1,4}))?$"
)


def read(lines: Iterable[str]) -> Toolkit | None:
    """Read the last line but one of its output; ``None`` where it is not there, or where two toolkits are.

    ``Cuda compilation tools, release 12.1, V12.1.105``
    """
    found = {
        match["version"] or match["short"]
        for line in lines
        if line.startswith("Cuda compilation") and (match := _RELEASE.match(line[:80]))
    }
    return Toolkit(nvcc=True, version=found.pop()) if len(found) == 1 else None
