"""Network interfaces."""

from msgspec import Struct

DEAD = ("down", "lowerlayerdown", "notpresent")
"""Operational states in which nothing passes (``Documentation/networking/operstates.rst``)."""


class Interface(Struct, frozen=True, kw_only=True):
    """One network interface (``psutil.net_if_stats``, ``net_if_addrs``; the rest from ``/sys/class/net/NAME``)."""

    name: str
    up: bool
    """The administrator switched it on (IFF_UP)."""
    addresses: list[str] = []
    """IPv4 and IPv6 addresses."""
    mtu: int | None = None
    """Bytes."""
    speed_mbps: int | None = None
    """Megabits per second; ``None``: the driver does not say."""
    loopback: bool = False
    virtual: bool = False
    """It has no device behind it (``/sys/class/net/NAME/device``): bridge, veth, docker0, tunnel."""
    index: int | None = None
    """The kernel's number: addresses are listed in this order (``if_nametoindex``)."""
    running: bool | None = None
    """It is up and has a carrier (IFF_RUNNING)."""
    operstate: str = ""
    """``up``, ``down``, ``dormant``, ``lowerlayerdown``, ``unknown`` (loopback, tunnels) …"""
    kind: str = ""
    """``ethernet``, ``infiniband``, ``wireless``, ``bridge``, ``bond``, ``vlan``, ``vxlan``, ``veth``, ``tun``,
    ``wireguard``, ``loopback`` or ``virtual``; empty: not known."""
    master: str | None = None
    """The bond or bridge that it is a part of."""
    parts: list[str] = []
    """Of a bond, bridge or VLAN: the interfaces below it."""
    labels: list[str] = []
    """Names of addresses of its own, such as ``eth0:1``."""
    default_route: bool = False
    """The way to the rest of the world leads through it (``/proc/net/route``, ``ipv6_route``)."""

    @property
    def runs(self) -> bool:
        """Whether packets can pass: it is up, and nothing says that it has no carrier."""
        return self.up and self.running is not False and self.operstate not in DEAD


class Interfaces(Struct, frozen=True, kw_only=True):
    """All interfaces, in the kernel's order."""

    all: list[Interface] = []
    ipv6: bool | None = None
    """Whether the kernel speaks IPv6 on new interfaces (``/proc/sys/net/ipv6/conf/all/disable_ipv6``)."""

    @property
    def usable(self) -> list[Interface]:
        """Those over which packets can pass, that have an address and are not loopback."""
        return [i for i in self.all if i.runs and i.addresses and not i.loopback]

    @property
    def addresses(self) -> set[str]:
        """All addresses of this machine, those of interfaces that are down too."""
        return {address for interface in self.all for address in interface.addresses}

    @property
    def loopback(self) -> Interface | None:
        """The loopback interface, or ``None``."""
        return next((i for i in self.all if i.loopback), None)

    def named(self, name: str) -> Interface | None:
        """Return the interface of this name, or the one that has an address with this label."""
        return next((i for i in self.all if name == i.name or name in i.labels), None)

    def having(self, address: str) -> Interface | None:
        """Return the interface that has an address, or ``None``."""
        return next((i for i in self.all if address in i.addresses), None)

    @property
    def best(self) -> Interface | None:
        """The interface that other machines most likely reach: of the default route, with a device; or ``None``."""
        order = sorted(self.usable, key=lambda i: (not i.default_route, i.virtual))
        return order[0] if order else None
