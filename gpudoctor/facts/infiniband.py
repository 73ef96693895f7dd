"""RDMA adapters: InfiniBand, RoCE and EFA, and what a process needs to use them."""

from collections.abc import Mapping

from msgspec import Struct

from gpudoctor.facts.gpus import Gpus
from gpudoctor.facts.pci import Pci


class Gid(Struct, frozen=True, kw_only=True):
    """One address of a port, without its digits: those tell the adapter's serial number."""

    index: int
    type: str = ""
    """``IB/RoCE v1`` or ``RoCE v2`` (``gid_attrs/types``)."""
    kind: str = ""
    """``ipv4``, ``ipv6`` or ``link-local``."""
    interface: str = ""
    """The Ethernet interface that it belongs to (``gid_attrs/ndevs``)."""


class IbPort(Struct, frozen=True, kw_only=True):
    """One port, as ``/sys/class/infiniband/DEVICE/ports/N`` tells it."""

    number: int = 1
    state: str = ""
    """``ACTIVE``, ``DOWN``, ``INIT``, ``ARMED``."""
    phys_state: str = ""
    """``LinkUp``, ``Polling``, ``Disabled``, ``Sleep`` …"""
    rate_gbps: float | None = None
    """Gigabits per second of all lanes together."""
    lanes: int | None = None
    speed: str = ""
    """Of one lane: ``SDR``, ``EDR``, ``HDR``, ``NDR`` …"""
    link_layer: str = ""
    """``InfiniBand``, ``Ethernet`` (RoCE) or ``Unspecified`` (EFA)."""
    gids: list[Gid] = []
    counters: dict[str, int] = {}
    """Of ``counters`` and ``hw_counters``, those that count errors; since the driver was loaded."""
    growing: dict[str, int] = {}
    """By how much some of them grew while gpudoctor looked."""

    @property
    def active(self) -> bool:
        """Whether it carries traffic."""
        return self.state == "ACTIVE"


class IbDevice(Struct, frozen=True, kw_only=True):
    """One adapter."""

    name: str
    """Such as ``mlx5_0``."""
    driver: str = ""
    """``mlx5_core``, ``efa``, ``irdma``, ``bnxt_en`` …; empty: software, such as Soft-RoCE."""
    model: str = ""
    """``hca_type``, such as ``MT4129``."""
    board: str = ""
    """``board_id``, such as ``MT_0000000838``: adapters of one kind in one role share it."""
    pci_address: str = ""
    virtual_function: bool = False
    """A part of an adapter that the host can hand to a virtual machine (``device/physfn``)."""
    numa_node: int | None = None
    ports: list[IbPort] = []

    @property
    def efa(self) -> bool:
        """Whether it is Amazon's Elastic Fabric Adapter."""
        return self.driver == "efa" or self.name.startswith(("efa", "rdmap"))


class Infiniband(Struct, frozen=True, kw_only=True):
    """All RDMA adapters; none is an answer, too."""

    devices: list[IbDevice] = []
    verbs: list[str] = []
    """Nodes ``/dev/infiniband/uverbs*`` that are there."""
    verbs_refused: list[str] = []
    """Those of them that this process may not open for reading and writing."""
    libibverbs: bool | None = None
    """Whether the loader finds ``libibverbs.so.1``, which NCCL opens."""
    peermem: bool | None = None
    """``nvidia_peermem`` or its older name ``nv_peer_mem`` is loaded."""
    uptime_days: float | None = None

    @property
    def ports(self) -> list[tuple[IbDevice, IbPort]]:
        """Every port with its device."""
        return [(device, port) for device in self.devices for port in device.ports]

    @property
    def active(self) -> list[tuple[IbDevice, IbPort]]:
        """The ports of real adapters that carry traffic."""
        return [(device, port) for device, port in self.ports if port.active and device.driver]

    def siblings(self, device: IbDevice, port: IbPort) -> list[tuple[IbDevice, IbPort]]:
        """Return the ports alike: of the same kind of adapter and link, the given one among them.

        Adapters for storage are of another board, mostly; where no board is known, the model must do.
        """
        return [
            (other, one)
            for other, one in self.ports
            if (other.driver, other.model, other.board, one.link_layer)
            == (device.driver, device.model, device.board, port.link_layer)
            and not other.virtual_function
        ]

    @property
    def carrying(self) -> list[tuple[IbDevice, IbPort]]:
        """The active ports of InfiniBand and RoCE, not EFA's."""
        return [(d, p) for d, p in self.active if not d.efa and p.link_layer in ("InfiniBand", "Ethernet")]

    def fabric(self, gpus: int) -> bool:
        """Return whether this is a machine whose GPUs are meant to talk over its adapters.

        InfiniBand says so; a RoCE port may be any server's Ethernet, so there must be one for each of several GPUs.
        """
        bands = [p.link_layer for _, p in self.carrying]
        return gpus > 1 and (len(bands) >= max(gpus, 4) or "InfiniBand" in bands)


def gpus_served(gpus: Gpus | None, pci: Pci | None) -> int:
    """Return how many GPUs share the adapters: those on the bus, of which a container may have a part."""
    return max(len(pci.usable) if pci else 0, len(gpus.devices) if gpus else 0)


def _has(device: IbDevice, port: str) -> bool:
    """Return whether an adapter has a port of that number; one whose ports are not known may have it."""
    numbers = [str(own.number) for own in device.ports]
    return not port or not numbers or not port.isdecimal() or port in numbers


def adapters_asked(infiniband: Infiniband, variables: Mapping[str, str]) -> list[IbDevice] | None:
    """Return the adapters that NCCL_IB_HCA fits; ``None``: it is not set.

    Its grammar is that of NCCL_SOCKET_IFNAME, with a port behind a colon: ``^``, ``=``, prefixes, commas.
    """
    asked = variables.get("NCCL_IB_HCA", "")
    if not asked:
        return None
    without = asked.startswith("^")
    exact = asked.removeprefix("^").startswith("=")
    names = asked.removeprefix("^").removeprefix("=").split(",")
    wanted = [(name, port) for name, _, port in (part.partition(":") for part in names) if name]
    fits = [
        any(
            (device.name == name if exact else device.name.startswith(name)) and _has(device, port)
            for name, port in wanted
        )
        for device in infiniband.devices
    ]
    return [device for device, fit in zip(infiniband.devices, fits, strict=True) if fit is not without]
