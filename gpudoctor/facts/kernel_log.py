"""What the kernel wrote of GPUs, memory and tasks since boot."""

from msgspec import Struct


class KernelEvent(Struct, frozen=True, kw_only=True):
    """One kind of line of the kernel log; lines alike are counted."""

    kind: str
    """``xid``, ``sxid``, ``oom-kill``, ``hung-task``, ``soft-lockup``, ``segfault``, ``nfs``, ``aer``, ``mlx5`` or
    ``nvrm``."""
    text: str
    """The newest such line, without its time stamp."""
    code: int | None = None
    """The number of an Xid or SXid."""
    pci_address: str = ""
    """Of the GPU or NVSwitch that it speaks of."""
    process: str = ""
    """Name of the process that it speaks of."""
    pid: int | None = None
    """Of that process, as the host counts."""
    fatal: bool | None = None
    """Whether an SXid says ``Fatal``."""
    count: int = 1
    seconds: float | None = None
    """Seconds since boot of the newest."""


class KernelLog(Struct, frozen=True, kw_only=True):
    """The kernel log as far as it could be read; a probe that may not read it fails, with the right that it needs."""

    source: str = ""
    """``/dev/kmsg``, ``journalctl -k``, or the file that was given."""
    events: list[KernelEvent] = []
    uptime_seconds: float | None = None
    """Since boot, when it was read (``/proc/uptime``)."""

    def age(self, event: KernelEvent) -> float | None:
        """Return how many seconds ago an event was last seen; ``None``: not known."""
        if event.seconds is None or self.uptime_seconds is None or event.seconds > self.uptime_seconds:
            return None
        return self.uptime_seconds - event.seconds

    def of(self, kind: str, pci_address: str = "") -> list[KernelEvent]:
        """Return the events of a kind; of one device where an address is given."""
        return [
            e for e in self.events if e.kind == kind and (not pci_address or e.pci_address == pci_address)
        ]
