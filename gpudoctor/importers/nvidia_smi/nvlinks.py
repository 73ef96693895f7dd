"""``nvidia-smi nvlink -s`` and ``-e``: each GPU's links, and their error counters."""

import re
from collections.abc import Iterable

from msgspec.structs import replace

from gpudoctor.facts import Gpu, NvLink
from gpudoctor.importers.nvidia_smi.listing import listed

_GPU = re.compile(r"GPU (\d{1,3}): ")
_LINK = re.compile(
    r"Link (?P<link>\d{1,2}): (?:(?P<speed>[\d.]{1,8}) GB/s|(?P<down><?inactive>?))", re.IGNORECASE
)
_ERRORS = re.compile(r"Link (?P<link>\d{1,2}): (?P<kind>Replay|Recovery|CRC) Errors: (?P<count>\d{1,15})")
_FIELDS = {"Replay": "replay_errors", "Recovery": "recovery_errors", "CRC": "crc_errors"}
_ALL_DOWN = "Unable to retrieve NVLink information as all links are inActive"
_MOST = 64


def read(lines: Iterable[str]) -> list[Gpu]:
    """Read the links below each GPU's line; a GPU without any line of a link has no links that are known.

    Nor has one with fewer lines than another of its model: nvidia-smi prints those of inactive links too, so the list
    was cut.

    ``GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-…)`` … ``Link 0: 25 GB/s`` … ``Link 1: <inactive>``
    """
    heads: dict[int, Gpu] = {}
    links: dict[int, dict[int, NvLink]] = {}
    errors: list[tuple[int, int, str, int]] = []
    down = set[int]()
    last = -1
    for line in lines:
        if match := _GPU.match(line):
            last = int(match[1])
            if last not in heads and len(heads) < _MOST:
                heads |= {gpu.index: gpu for gpu in listed([line])[:1]}
        elif last not in heads:
            continue
        elif match := _LINK.match(line):
            number = int(match["link"])
            found = links.setdefault(last, {})
            found.setdefault(number, NvLink(link=number, active=match["down"] is None))
        elif (match := _ERRORS.match(line)) and len(errors) < 20_000:
            errors.append((last, int(match["link"]), _FIELDS[match["kind"]], int(match["count"])))
        elif _ALL_DOWN in line:
            down.add(last)
    for index, number, name, count in errors:
        if link := links.get(index, {}).get(number):
            links[index][number] = replace(link, **{name: count})
    most: dict[str, int] = {}
    for index, found in links.items():
        most[heads[index].name] = max(most.get(heads[index].name, 0), len(found))
    whole = {index for index, found in links.items() if len(found) == most[heads[index].name]}
    return [
        _with_links(heads[index], list(links.get(index, {}).values())) for index in sorted({*whole, *down})
    ]


def _with_links(gpu: Gpu, links: list[NvLink]) -> Gpu:
    return replace(gpu, nvlinks=links, nvlinks_active=sum(link.active for link in links))
