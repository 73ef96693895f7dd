"""Where this process may run, and the NUMA nodes of the machine."""

from msgspec import Struct


class Affinity(Struct, frozen=True, kw_only=True):
    """Processors and memory of gpudoctor's own process, which a training started beside it would share."""

    cpus: list[int] = []
    """``sched_getaffinity``; empty: not known."""
    online: list[int] = []
    """Processors of the machine that are switched on, where ``/sys`` and ``/proc/stat`` agree; empty: not known."""
    memory_nodes: list[int] = []
    """NUMA nodes whose memory it may use (``Mems_allowed_list``)."""
    nodes: dict[str, str] = {}
    """Processors of each NUMA node, such as ``{"0": "0-31,64-95"}``; memory without processors has none."""

    @property
    def bound(self) -> bool | None:
        """Whether it may run on a part of the processors only; ``None``: not known."""
        return set(self.cpus) < set(self.online) if self.cpus and self.online else None

    def near(self, local_cpus: str, node: int | None) -> set[int]:
        """Return the processors near a device: those that the bus names, or those of its NUMA node."""
        return cpus_in(local_cpus) or cpus_in(self.nodes.get(str(node), ""))

    def node_of(self, cpus: set[int]) -> list[str]:
        """Return the NUMA nodes that some processors belong to."""
        return [node for node, text in self.nodes.items() if cpus & cpus_in(text)]


def cpus_in(text: str) -> set[int]:
    """Return the numbers of a list as the kernel writes it, ``0-3,8``; parts that are no numbers are left out."""
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.strip().partition("-")
        if first.isdecimal() and (last or first).isdecimal() and int(last or first) - int(first) < 1 << 16:
            found.update(range(int(first), int(last or first) + 1))
    return found
