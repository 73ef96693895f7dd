"""What names resolve to here: the own host name, MASTER_ADDR, and the endpoint of torchrun's rendezvous."""

import ipaddress
from collections.abc import Iterable

from msgspec import Struct

from gpudoctor.facts.interfaces import Interfaces
from gpudoctor.facts.launch import Launch


class Route(Struct, frozen=True, kw_only=True):
    """How packets to one address would leave this machine; none was sent (``connect`` of a UDP socket)."""

    address: str
    source: str | None = None
    """The own address that they would bear; the address itself where it is this machine's."""
    error: str | None = None
    """The kernel's words where there is no way, such as ``Network is unreachable``."""
    silent: bool = False
    """The kernel asked the local network for it lately and nobody answered (``/proc/net/arp``: incomplete)."""


class Resolution(Struct, frozen=True, kw_only=True):
    """One answer of ``getaddrinfo``."""

    name: str
    addresses: list[str] = []
    error: str | None = None
    """The resolver's words, such as ``Name or service not known``."""
    seconds: float | None = None
    routes: list[Route] = []
    """The way to each of the addresses."""

    @property
    def loopback(self) -> bool:
        """Whether it resolves, and to loopback addresses alone."""
        return bool(self.addresses) and all(is_loopback(a) for a in self.addresses)

    @property
    def family(self) -> int:
        """By which family it is reached: 6 where its addresses are IPv6 alone, else 4."""
        return 6 if self.addresses and all(":" in address for address in self.addresses) else 4

    @property
    def no_way(self) -> Route | None:
        """The first address that the kernel knows no way to, where that holds for all of them; or ``None``."""
        lost = [r for r in self.routes if r.error or r.silent]
        return lost[0] if lost and len(lost) == len(self.addresses) else None

    def is_here(self, interfaces: Interfaces | None) -> bool | None:
        """Return whether one of its addresses is this machine's; ``None``: not known."""
        if not self.addresses:
            return None
        if self.loopback or any(r.source == r.address for r in self.routes):
            return True
        if interfaces is None or not interfaces.all:
            return None
        bare = {address.partition("%")[0] for address in interfaces.addresses}
        if any(a.partition("%")[0] in bare for a in self.addresses):
            return True
        # Aliases of a redacted report are alike only where both sides have them.
        return False if _aliases(bare) or not _aliases(self.addresses) else None


class Names(Struct, frozen=True, kw_only=True):
    """The names that a rendezvous depends on."""

    own: Resolution
    """``socket.gethostname()``: the address that torch's rendezvous and gloo hand to other ranks."""
    master: Resolution | None = None
    """MASTER_ADDR; ``None``: not set."""
    endpoint: Resolution | None = None
    """The host of PET_RDZV_ENDPOINT, by which torchrun is told its rendezvous; ``None``: not set."""

    def master_is_here(self, interfaces: Interfaces | None) -> bool | None:
        """Return whether MASTER_ADDR is this machine: a loopback address, or one of its own.

        ``None``: it is not set, does not resolve, or this machine's addresses are not known.
        """
        if self.master is None or self.master.error:
            return None
        if self.master.loopback:
            return True
        if interfaces is None or not self.master.addresses:
            return None
        here = self.master.is_here(interfaces)
        # A name that means both, and an address on no interface, is one thing to the ranks here.
        return bool(here) or not set(self.own.addresses).isdisjoint(self.master.addresses)


def _aliases(addresses: Iterable[str]) -> bool:
    return any(":" not in a and "." not in a for a in addresses)


def spans_nodes(launch: Launch | None, names: Names | None, interfaces: Interfaces | None) -> bool:
    """Return whether ranks of other machines must reach this one: the launch says so, or its rank 0 is elsewhere.

    An address that nobody has is no proof of another machine: neither where rank 0 runs here, nor where the kernel
    knows no way to it.
    """
    nodes = launch.nodes if launch else None
    if nodes is not None:
        return nodes > 1
    if names is None or names.master is None or (launch and launch.number("RANK") == 0):
        return False
    return names.master.no_way is None and names.master_is_here(interfaces) is False


def is_loopback(address: str) -> bool:
    """Return whether an address is a loopback one; an alias of a redacted report, such as ip-1, never is.

    Who connects to 0.0.0.0 or :: reaches this machine, too.
    """
    try:
        known = ipaddress.ip_address(address.partition("%")[0])
        return known.is_loopback or known.is_unspecified
    except ValueError:  # loopback addresses keep their numbers
        return False
