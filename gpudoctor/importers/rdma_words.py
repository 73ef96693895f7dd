"""What NCCL and UCX say of RDMA adapters where no command lists them, and of the memory that they may lock."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from gpudoctor.facts import Limit

_USING = re.compile(r"\bNET/IB ?: ?Using (?P<list>\[\d{1,2}\]\S{1,60}:\d{1,3}/.{1,2000})")
_ADAPTER = re.compile(r"\[\d{1,2}\](?P<name>[\w.-]{1,40}):\d{1,3}/(?P<layer>IB|RoCE)\b")
_LAYERS = {"IB": "InfiniBand", "RoCE": "Ethernet"}
_REFUSED = re.compile(
    r"UCX\s{1,4}ERROR (?P<name>[\w.-]{1,40}): ibv_\w{3,30}\(.{0,200}\) failed: Cannot allocate memory"
    r".{0,80}\(current: (?P<kbytes>\d{1,12}) kbytes\)"
)
# NCCL, UCX, OpenMPI and perftest: "Call to ibv_reg_mr failed with error Cannot allocate memory"
_NO_MEMORY = re.compile(
    r"\b(?P<call>ibv_(?:reg_\w{1,20}|create_(?:cq|qp|srq)\w{0,10}|alloc_\w{1,10}))\b.{0,200}"
    r"(?:failed\W{0,3}$|Cannot allocate memory|\b(?:errno|error) (?:is )?12\b|ENOMEM)"
)
# libibverbs itself, whether there is an adapter or not
_WARNED = re.compile(r"libibverbs: Warning: RLIMIT_MEMLOCK is (?P<bytes>\d{1,15}) bytes")
# an adapter by its name, or the network's, in somebody's sentence
_NAMED = re.compile(r"(?<![\w./-])(?P<name>(?:mlx[45]|bnxt_re|irdma|hfi1|efa)_\d{1,2})(?![\w/-])")
_NETWORK = re.compile(
    r"\b(?:over|via|with|use|using|on) (?:(?:an|the|our|HDR|NDR|EDR|FDR) )?(?:IB|Infini[Bb]and|RoCE(?:v2)?)\b"
    r"|\b(?:IB|Infini[Bb]and|RoCE(?:v2)?) (?:drivers?|adapters?|cards?|NICs?|HCAs?|network|fabric|cluster|nodes?)\b"
)
_PERFTEST = ("Couldn't allocate MR", "failed to create mr", "Failed to create MR")
_MOST = 64


@dataclass
class Said:
    """What programs said of the adapters."""

    layers: dict[str, str] = field(default_factory=dict)
    """Link layers by adapter."""
    named: dict[str, str] = field(default_factory=dict)
    """Those that a sentence names; the layer is that of the one network of which it speaks."""
    limit: Limit | None = None
    """The limit on locked memory, where a refusal names it."""
    refused: str = ""
    """The call that got no memory."""


def read(lines: Iterable[str]) -> Said:
    """Return the adapters and what their library was refused.

    ``NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE [RO]; OOB eth0:10.0.0.4<0>``
    """
    said = Said()
    for line in lines:
        if "NET/IB" in line[:400] and (using := _USING.search(line[:3000])):
            for match in _ADAPTER.finditer(using["list"]):
                said.layers.setdefault(match["name"], _LAYERS[match["layer"]])
        elif "RLIMIT_MEMLOCK" in line[:200] and (warned := _WARNED.search(line[:300])):
            soft = int(warned["bytes"])
            said.limit = said.limit or Limit(soft=soft, hard=soft)
            said.named.setdefault("an adapter", "")
        elif "UCX" in line[:200] and (refused := _REFUSED.search(line[:1000])):
            said.layers.setdefault(refused["name"], "")
            soft = int(refused["kbytes"]) << 10
            said.limit = Limit(soft=soft, hard=soft)
        _name(said, line)
        if not said.refused and "ibv_" in line[:1000] and (short := _NO_MEMORY.search(line[:1500])):
            said.refused = short["call"]
        elif not said.refused and line.strip() in _PERFTEST:
            said.refused = "ibv_reg_mr"
        if len(said.layers) >= _MOST:
            break
    return said


def _name(said: Said, line: str) -> None:
    """Add the adapter or the network that a sentence names, ``mlx5_0`` or ``over IB``."""
    if ("_" in line[:1000] or "IB" in line[:1000] or "fini" in line[:1000] or "RoCE" in line[:1000]) and len(
        said.named
    ) < _MOST:
        network = _NETWORK.search(line[:1000])
        layer = "" if network is None else "Ethernet" if "RoCE" in network[0] else "InfiniBand"
        for match in _NAMED.finditer(line[:1000]):
            said.named.setdefault(match["name"], layer)
        if layer:
            said.named.setdefault("an adapter", layer)
