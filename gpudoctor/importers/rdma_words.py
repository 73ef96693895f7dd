"""What NCCL and UCX say of RDMA adapters where no command lists them, and of the memory that they may lock."""

import re
from collections.abc import Iterable

from gpudoctor.facts import Limit

_USING = re.compile(r"\bNET/IB ?: ?Using (?P<list>\[\d{1,2}\]\S{1,60}:\d{1,3}/.{1,2000})")
_ADAPTER = re.compile(r"\[\d{1,2}\](?P<name>[\w.-]{1,40}):\d{1,3}/(?P<layer>IB|RoCE)\b")
_LAYERS = {"IB": "InfiniBand", "RoCE": "Ethernet"}
_REFUSED = re.compile(
    r"UCX\s{1,4}ERROR (?P<name>[\w.-]{1,40}): ibv_\w{3,30}\(.{0,200}\) failed: Cannot allocate memory"
    r".{0,80}\(current: (?P<kbytes>\d{1,12}) kbytes\)"
)
_MOST = 64


def read(lines: Iterable[str]) -> tuple[dict[str, str], Limit | None]:
    """Return link layers by adapter, and the limit on locked memory where a refusal names it.

    ``NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.4<0>``
    """
    found: dict[str, str] = {}
    limit: Limit | None = None
    for line in lines:
        if "NET/IB" in line[:400] and (using := _USING.search(line[:3000])):
            for match in _ADAPTER.finditer(using["list"]):
                found.setdefault(match["name"], _LAYERS[match["layer"]])
        elif "UCX" in line[:200] and (refused := _REFUSED.search(line[:1000])):
            found.setdefault(refused["name"], "")
            soft = int(refused["kbytes"]) << 10
            limit = Limit(soft=soft, hard=soft)
        if len(found) >= _MOST:
            break
    return found, limit
