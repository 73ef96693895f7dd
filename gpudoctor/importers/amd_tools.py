"""``rocm-smi``, ``amd-smi`` and ``rocminfo`` -> how many AMD GPUs are there, and no more: nothing examines them."""

import re
from collections.abc import Iterable

from gpudoctor.facts import Pci, PciDevice

_TITLES = re.compile(
    r"=+\s?(?:ROCm System Management Interface|ROCm SMI)|\|\s?AMD-SMI |HSA (?:System Attributes|Agents)"
    r"|\S*\$ ?(?:sudo )?(?:\S*/)?(?:rocm-smi|amd-smi|rocminfo)\b|(?:rocm-smi|amd-smi(?: \w+)?|rocminfo)$"
)
_ROW = re.compile(
    r"(?P<index>\d{1,2})\s+(?:\d{1,3}\s+(?:\[|0x[0-9a-f]{3,4}\b)|[\d.]{1,5}c\s|0x[0-9a-f]{3,4}\s|\[0x)"
)
_NAMED = re.compile(r"GPU\s?(?:\[(?P<bracketed>\d{1,2})\]|: (?P<plain>\d{1,2})$)")
_ADDRESS = re.compile(
    r"(?:\|\s?|BDF: )(?P<address>[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])(?:\s|$)", re.IGNORECASE
)
_AGENT = re.compile(r"Name:\s+gfx[0-9a-f]{3,5}$")
CLASS = "0x1200"
_MOST = 64


def read(lines: Iterable[str]) -> Pci | None:
    """Count the GPUs below one of the tools' titles or its command; ``None`` where they show none.

    ``0       2     0x74a1,   28851  38.0°C   140.0W``, ``GPU[0]  : Card series: …``, ``| 0000:05:00.0  AMD Instinct …``
    """
    below = False
    numbers: set[str] = set()
    addresses: dict[str, None] = {}
    agents = 0
    for line in lines:
        if not below:
            below = _TITLES.match(line[:200]) is not None
        elif match := _ADDRESS.match(line[:100]):
            addresses[match["address"].lower()] = None
        elif match := _ROW.match(line[:100]):
            numbers.add(match["index"])
        elif match := _NAMED.match(line[:60]):
            numbers.add(match["bracketed"] or match["plain"])
        elif _AGENT.match(line[:60]):
            agents += 1
    number = min(len(addresses) or max(len(numbers), agents), _MOST)
    places = [*addresses, *[""] * number][:number]
    return Pci(amd=[PciDevice(address=a, device_class=CLASS) for a in places]) if number else None
