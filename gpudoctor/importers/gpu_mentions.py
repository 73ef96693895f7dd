"""The GPU that somebody says is there, in prose: ``it wont find my gpu (RTX 3060 Ti)``."""

import re
from collections.abc import Iterable

from gpudoctor.facts import Gpu

_MODEL = re.compile(
    r"\b(?:NVIDIA |GeForce |Nvidia |nvidia )*(?P<name>(?:RTX|GTX) ?(?:A?\d{4})(?: ?(?:Ti|SUPER|Super|ti))?"
    r"|Tesla [PVTMK]\d{1,3}"
    r"|[AH]100|H200|B200|L40S?|V100)\b"
)
_OWN = re.compile(r"\b(?:my|our|have|has|with|on|using|find|detect|see)\b", re.IGNORECASE)


def read(lines: Iterable[str]) -> list[Gpu]:
    """Return the one model that sentences say is there; of several models none."""
    names: set[str] = set()
    for line in lines:
        if "+c" in line[:400] or "://" in line:
            continue
        for match in _MODEL.finditer(line[:1000]):
            if _OWN.search(line[: match.start()]):
                names.add(match["name"])
    return [Gpu(index=0, name=names.pop())] if len(names) == 1 else []
