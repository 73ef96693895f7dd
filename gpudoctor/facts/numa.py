"""Memory nodes and processors."""

from msgspec import Struct


class NumaNode(Struct, frozen=True, kw_only=True):
    """One NUMA node, from ``/sys/devices/system/node``."""

    node: int
    cpus: str = ""
    """Its processors, such as ``0-31,64-95``; empty: memory alone, as that of a GPU on Grace Hopper."""
    memory_bytes: int | None = None
    memory_free_bytes: int | None = None


class Numa(Struct, frozen=True, kw_only=True):
    """How memory and processors are laid out, and how the kernel handles them."""

    nodes: list[NumaNode] = []
    balancing: bool | None = None
    """The kernel moves pages to where they are used (``kernel.numa_balancing``)."""
    governors: dict[str, int] = {}
    """Processors by frequency governor; empty: the machine has none (virtual machines)."""
    governor_driver: str = ""
    """``intel_pstate``, ``amd-pstate-epp``, ``acpi-cpufreq`` …: what obeys the governor."""
    clocksource: str = ""
    """``tsc``, ``kvm-clock``, ``hpet`` …."""
