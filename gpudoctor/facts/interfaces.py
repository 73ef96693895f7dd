"""Network interfaces."""

from msgspec import Struct


class Interface(Struct, frozen=True, kw_only=True):
    """One network interface (``psutil.net_if_stats``, ``net_if_addrs``)."""

    name: str
    up: bool
    addresses: list[str] = []
    """IPv4 and IPv6 addresses."""
    mtu: int | None = None
    """Bytes."""
    speed_mbps: int | None = None
    """Megabits per second; ``None``: the driver does not say."""
    loopback: bool = False
    virtual: bool = False
    """It has no device behind it (``/sys/class/net/NAME/device``): bridge, veth, docker0, tunnel."""


class Interfaces(Struct, frozen=True, kw_only=True):
    """All interfaces, in the kernel's order."""

    all: list[Interface] = []

    @property
    def usable(self) -> list[Interface]:
        """Those that are up, have an address and are not loopback."""
        return [i for i in self.all if i.up and i.addresses and not i.loopback]

    @property
    def addresses(self) -> set[str]:
        """All addresses of this machine, those of interfaces that are down too."""
        return {address for interface in self.all for address in interface.addresses}
