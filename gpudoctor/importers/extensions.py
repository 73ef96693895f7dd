"""detectron2's list of the environment -> for which GPUs its own kernels were compiled."""

import re
from collections.abc import Iterable

from gpudoctor.facts import Extension, Extensions

# torchvision's line says the same, and its wheels hold PTX too, which the line does not tell.
_COMPILED = re.compile(
    r"(?P<name>detectron2) arch flags\s{1,40}"
    r"(?P<flags>(?:\d{1,2}\.\d|sm_\d{2,3})(?:, ?(?:\d{1,2}\.\d|sm_\d{2,3})){0,30})$"
)


def read(lines: Iterable[str]) -> Extensions | None:
    """Read the line of a library's own code; ``None`` where there is none.

    ``detectron2 arch flags   7.0, 7.5``
    """
    for line in lines:
        if " arch flags" in line[:40] and (match := _COMPILED.match(line[:300])):
            flags = [
                f"sm_{flag.strip().removeprefix('sm_').replace('.', '')}"
                for flag in match["flags"].split(",")
            ]
            return Extensions(each=[Extension(name=match["name"], architectures=flags)])
    return None
