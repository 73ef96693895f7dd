"""``numactl -H`` and lscpu's nodes -> memory nodes and their processors."""

import re
from collections.abc import Iterable

from gpudoctor.facts import Host, Numa, NumaNode
from gpudoctor.text import ranges

_CPUS = re.compile(r"node (?P<node>\d{1,4}) cpus:(?P<cpus>(?: \d{1,5}){0,2048})$")
_SIZE = re.compile(r"node (?P<node>\d{1,4}) (?P<what>size|free): (?P<megabytes>\d{1,9}) MB$")
_LSCPU = re.compile(r"NUMA node(?P<node>\d{1,4}) CPU\(s\):\s{1,40}(?P<cpus>[\d,-]{0,2000})$")
_MOST = 256


def read(lines: Iterable[str]) -> Host | None:
    """Read the nodes; ``None`` where none is shown.

    ``node 0 cpus: 0 1 2 3`` … ``node 0 size: 128820 MB``; ``NUMA node0 CPU(s):   0-31,64-95``
    """
    cpus: dict[int, str] = {}
    memory: dict[tuple[int, str], int] = {}
    for line in lines:
        if not line.startswith(("node ", "NUMA node")) or len(cpus) >= _MOST:
            continue
        if match := _CPUS.match(line[:12_000]):
            cpus.setdefault(int(match["node"]), ranges([int(number) for number in match["cpus"].split()]))
        elif match := _LSCPU.match(line[:2100]):
            cpus.setdefault(int(match["node"]), match["cpus"])
        elif match := _SIZE.match(line[:80]):
            memory.setdefault((int(match["node"]), match["what"]), int(match["megabytes"]) << 20)
    if not cpus:
        return None
    nodes = [
        NumaNode(
            node=node,
            cpus=cpus[node],
            memory_bytes=memory.get((node, "size")),
            memory_free_bytes=memory.get((node, "free")),
        )
        for node in sorted(cpus)
    ]
    return Host(numa=Numa(nodes=nodes))
