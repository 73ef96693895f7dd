"""``nvidia-smi topo -m`` and ``topo -p2p r``: matrices of how the GPUs are connected."""

import re
from collections.abc import Iterable

from msgspec.structs import replace

from gpudoctor.facts import GpuPair

_COLOUR = re.compile(r"\[\d{1,2}m")  # where the escape before it was lost
_GPU = re.compile(r"GPU(\d{1,3})")
_PATH = re.compile(r"X|NV\d{1,2}|PIX|PXB|PHB|NODE|SYS|SOC")
# "topo -p2p n" asks for NVLink, "a" for atomics, "p" for a registry key: of peer access they say nothing
_OTHER = re.compile(r"\btopo +(?:-p2p|--p2p_matrix)[ =](?P<what>[rwnap])\b")
_P2P = {"OK", "CNS", "GNS", "TNS", "NS", "DR"}
_MOST = 64


def read(lines: Iterable[str]) -> list[GpuPair]:
    """Read the rows below a header; one that is cut off, or wider than its header, is left out.

    ``GPU0    X   NV18  NV18  PIX   0-47   0   N/A``
    """
    columns: list[int] = []
    asked = ""
    pairs: dict[tuple[int, int], GpuPair] = {}
    for line in lines:
        if "topo" in line[:200] and (command := _OTHER.search(line[:300])):
            asked = command["what"]
        if "GPU" not in line[:40]:
            continue
        words = _COLOUR.sub("", line).split()[: _MOST + 2] if "GPU" in line[:40] else []
        if not words or not (match := _GPU.fullmatch(words[0])):
            continue
        if len(words) > 1 and (_GPU.fullmatch(words[1]) or words[1] in ("CPU", "NIC0", "mlx5_0")):
            columns = [int(found[1]) for word in words if (found := _GPU.fullmatch(word))]
        elif columns and int(match[1]) in columns and len(words) > len(columns):
            _row(pairs, int(match[1]), columns, words[1 : len(columns) + 1], asked)
    return [pairs[key] for key in sorted(pairs)]


def _row(
    pairs: dict[tuple[int, int], GpuPair], own: int, columns: list[int], words: list[str], asked: str
) -> None:
    paths = all(_PATH.fullmatch(word) for word in words)
    if not paths and not all(word in _P2P or word == "X" for word in words):
        return
    for other, word in zip(columns, words, strict=True):
        if other <= own or word == "X":
            continue
        pair = pairs.get((own, other)) or GpuPair(first=own, second=other)
        if paths and not pair.path:
            # SOC is what old drivers wrote for SYS.
            pairs[own, other] = replace(pair, path="SYS" if word == "SOC" else word)
        elif not paths and asked == "n":
            pairs[own, other] = replace(pair, nvlink=word == "OK")
        elif not paths and not pair.p2p and asked not in ("a", "p"):
            pairs[own, other] = replace(pair, p2p=word)
