"""Read memory nodes, frequency governors and the clock from sysfs."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from gpudoctor.facts import Numa, NumaNode
from gpudoctor.probes._files import text


def numa(root: Path) -> Numa:
    """Return how processors and memory are laid out below `root`."""
    cpu = root / "sys/devices/system/cpu"
    governors = [text(path) for path in cpu.glob("cpu[0-9]*/cpufreq/scaling_governor")]
    balancing = text(root / "proc/sys/kernel/numa_balancing")
    return Numa(
        nodes=[
            NumaNode(
                node=number,
                cpus=cpus,
                memory_bytes=_kib(memory := text(path / "meminfo"), "MemTotal"),
                memory_free_bytes=_kib(memory, "MemFree"),
            )
            for number, cpus, path in nodes(root)
        ],
        # 2 is NUMA_BALANCING_MEMORY_TIERING alone; bit 0 is the balancing between nodes (sysctl/kernel.rst).
        balancing=bool(int(balancing) & 1) if balancing.isdecimal() else None,
        governors=dict(sorted(Counter(g for g in governors if g).items())),
        governor_driver=text(cpu / "cpu0/cpufreq/scaling_driver"),
        clocksource=text(root / "sys/devices/system/clocksource/clocksource0/current_clocksource"),
    )


def nodes(root: Path) -> Iterator[tuple[int, str, Path]]:
    """Yield each memory node's number, its processors (empty: memory alone) and its folder, by number."""
    folders = [p for p in (root / "sys/devices/system/node").glob("node[0-9]*") if p.name[4:].isdecimal()]
    for folder in sorted(folders, key=lambda path: int(path.name[4:])):
        yield int(folder.name[4:]), text(folder / "cpulist"), folder


def _kib(memory: str, name: str) -> int | None:
    match = re.search(rf"\b{name}:\s+(\d+) kB", memory)
    return int(match[1]) * 1024 if match else None
