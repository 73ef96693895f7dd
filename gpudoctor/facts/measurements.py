"""What ``check --deep`` measured: speeds of GPUs, links and collectives, and whether the data that came was right.

A GB is 10^9 bytes, a GB/s that many in a second. A figure that was not measured is ``None``; `Measurements.missing`
says why.
"""

from collections.abc import Sequence

from msgspec import Struct


class DeviceSpeed(Struct, frozen=True, kw_only=True):
    """One device on its own: the link to the host, its memory, a matrix product, and the clocks meanwhile.

    Of a machine without GPUs it is the processor, as `ordinal` -1.
    """

    ordinal: int
    """As torch counts: ``cuda:ORDINAL``."""
    name: str = ""
    pci_address: str = ""
    """Such as ``0000:3b:00.0``; empty: torch does not tell (before 2.6 or so)."""
    host_to_device: float | None = None
    """GB/s out of pinned memory, the best of several copies of 256 MiB."""
    device_to_host: float | None = None
    """GB/s into pinned memory."""
    memory: float | None = None
    """GB/s that a copy inside its memory reads and writes, together."""
    matrix_product: float | None = None
    """TFLOPS of square matrix products that follow each other for some seconds; 2 n^3 operations each."""
    matrix_type: str = ""
    """``bfloat16``, ``float16`` or ``float32``."""
    wrong_elements: int | None = None
    """Elements of matrix products of whole numbers, whose result is known exactly, that came out wrong."""
    checked_elements: int = 0
    sm_clocks: list[int] = []
    """MHz, sampled by NVML while the matrix products ran."""
    sm_clock_max: int | None = None
    """MHz that the GPU can reach (``nvmlDeviceGetMaxClockInfo``)."""
    throttled: dict[str, float] = {}
    """The share of those samples in which NVML gave a reason for lower clocks, by its words (``sw_power_cap``)."""
    violations: dict[str, float] = {}
    """The share of the time in which the GPU was held below its application clocks meanwhile, by what held it:
    ``power``, ``thermal``, ``board_limit``, ``reliability`` (``nvmlDeviceGetViolationStatus``)."""
    temperature_celsius: int | None = None
    """The highest meanwhile."""
    power_watts: float | None = None
    """The highest meanwhile."""

    @property
    def place(self) -> str:
        """Which GPU it is, in words: ``GPU 3 (0000:3b:00.0)``, by torch's number."""
        if self.ordinal < 0:
            return "the processor"
        return f"GPU {self.ordinal} ({self.pci_address})" if self.pci_address else f"GPU {self.ordinal}"

    @property
    def sm_clock(self) -> int | None:
        """The median of the clocks meanwhile, in MHz."""
        return sorted(self.sm_clocks)[len(self.sm_clocks) // 2] if self.sm_clocks else None


class PeerCopy(Struct, frozen=True, kw_only=True):
    """Copies from one GPU to another, written with a pattern and read back."""

    source: int
    """torch's ordinal."""
    target: int
    speed: float | None = None
    """GB/s, the best of several copies of 64 MiB."""
    peer_access: bool | None = None
    """``torch.cuda.can_device_access_peer``; without it the copy goes through host memory."""
    wrong_elements: int | None = None
    """Elements that did not arrive as they were sent; ``None``: no copy came to its end."""
    checked_elements: int = 0
    sample: str = ""
    """The first wrong one: ``element 4096 is 0 and was 4097``."""
    error: str | None = None
    """Why there is no figure: torch's own words, or ``no answer in 10 s``."""


class Payload(Struct, frozen=True, kw_only=True):
    """All-reduces of one size."""

    size: int
    """Bytes of the tensor that each rank brings."""
    seconds: float
    """Of one all-reduce, averaged over several."""
    bus: float
    """GB/s of bus bandwidth: 2 (n - 1) / n times size over seconds, as nccl-tests counts, so that it can be compared
    with the speed of a link."""


class Collective(Struct, frozen=True, kw_only=True):
    """All-reduces among ranks of this machine."""

    backend: str
    """``nccl`` or ``gloo``."""
    ranks: int
    interface: str = ""
    """The GLOO_SOCKET_IFNAME that it was given; empty: none."""
    initialised: float | None = None
    """Seconds that ``init_process_group`` took."""
    first: float | None = None
    """Seconds of the first all-reduce, in which NCCL makes its connections."""
    payloads: list[Payload] = []
    wrong: list[str] = []
    """What came out wrong: ``rank 1, bfloat16: 4096 of 1048576 elements, element 12 is 3.0 and must be 10.0``."""
    checked: list[str] = []
    """The types whose results were compared with what they must be."""
    error: str | None = None
    """Why it did not come to its end."""

    @property
    def largest(self) -> Payload | None:
        """The largest payload that was measured."""
        return max(self.payloads, key=lambda payload: payload.size, default=None)


class Disk(Struct, frozen=True, kw_only=True):
    """A file of random bytes, written and read back; it never had a name, so nothing of it can stay behind."""

    folder: str
    file_system: str = ""
    """Such as ``ext4``, ``nfs4`` or ``overlay``; empty: not known."""
    size: int = 0
    """Bytes."""
    write: float | None = None
    """GB/s until the data were on the disk (``fsync``)."""
    read: float | None = None
    """GB/s after the kernel was asked to forget its copy; it may have kept it."""
    wrong_bytes: int | None = None
    """Bytes that were read otherwise than they had been written."""


class Packets(Struct, frozen=True, kw_only=True):
    """Whether packets of the interface's own size come through to another machine without being cut."""

    bytes: int
    """With their headers: the MTU of the interface by which they go."""
    passed: bool | None = None
    """``False``: small ones came through, before and after, and these did not; ``None``: no answer came at all."""
    told: int | None = None
    """The largest size that a router on the way allows, where one said so."""


class Connection(Struct, frozen=True, kw_only=True):
    """An attempt to connect to MASTER_ADDR and MASTER_PORT."""

    host: str
    port: int
    addresses: list[str] = []
    """What the host resolves to."""
    outcome: str = ""
    """``connected``, ``refused`` (the machine answers, nothing listens), ``no answer``, ``unreachable`` (no route) or
    ``unresolved``."""
    reason: str = ""
    """The system's own words."""
    seconds: float = 0.0
    packets: Packets | None = None
    """``None``: not sent, for nothing answers there, or it is this machine."""


class Missing(Struct, frozen=True, kw_only=True):
    """A measurement without a result."""

    what: str
    """``all-reduce over eth0``"""
    why: str


class Measurements(Struct, frozen=True, kw_only=True):
    """All that was measured, and what was not."""

    devices: list[DeviceSpeed] = []
    copies: list[PeerCopy] = []
    collectives: list[Collective] = []
    disks: list[Disk] = []
    connection: Connection | None = None
    """``None``: MASTER_ADDR and MASTER_PORT are not both set, or the attempt was not made."""
    missing: list[Missing] = []
    """What could not be measured, or was not on such a machine, and why."""
    seconds: float = 0.0

    @property
    def gpus(self) -> list[DeviceSpeed]:
        """The GPUs among the devices."""
        return [device for device in self.devices if device.ordinal >= 0]

    def why(self, what: str) -> str:
        """Return why measurements whose name begins so have no result; empty: there is no such reason."""
        return next((missing.why for missing in self.missing if missing.what.startswith(what)), "")

    def device(self, ordinal: int) -> DeviceSpeed | None:
        """Return one device by torch's number."""
        return next((device for device in self.devices if device.ordinal == ordinal), None)


def siblings_median(others: Sequence[float]) -> float | None:
    """Return the median of what the other devices of the model reach; ``None``: fewer than two can tell."""
    if len(others) < 2:
        return None
    ordered = sorted(others)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
