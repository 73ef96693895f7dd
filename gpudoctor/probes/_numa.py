"""Read memory nodes, frequency governors and the clock from sysfs."""

import re
from collections import Counter
from pathlib import Path

from gpudoctor.facts import Numa, NumaNode
from gpudoctor.probes._files import text


def numa(root: Path) -> Numa:
    """Return how processors and memory are laid out below `root`."""
    cpu = root / "sys/devices/system/cpu"
    governors = [text(path) for path in cpu.glob("cpu[0-9]*/cpufreq/scaling_governor")]
    balancing = text(root / "proc/sys/kernel/numa_balancing")
    return Numa(
        nodes=[_node(path) for path in sorted(_nodes(root), key=lambda p: int(p.name[4:]))],
        # 2 is NUMA_BALANCING_MEMORY_TIERING alone; bit 0 is the balancing between nodes (sysctl/kernel.rst).
        balancing=bool(int(balancing) & 1) if balancing.isdecimal() else None,
        governors=dict(sorted(Counter(g for g in governors if g).items())),
        governor_driver=text(cpu / "cpu0/cpufreq/scaling_driver"),
        clocksource=text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
    )


def _nodes(root: Path) -> list[Path]:
    return [p for p in (root / "sys/devices/system/node").glob("node[0-9]*") if p.name[4:].isdecimal()]


def _node(path: Path) -> NumaNode:
    memory = text(path / "meminfo")
    return NumaNode(
        node=int(path.name[4:]),
        cpus=text(path / "cpulist"),
        memory_bytes=_kib(memory, "MemTotal"),
        memory_free_bytes=_kib(memory, "MemFree"),
    )


def _kib(memory: str, name: str) -> int | None:
    match = re.search(rf"\b{name}:\s+(\d+) kB", memory)
    return int(match[1]) * 1024 if match else None
