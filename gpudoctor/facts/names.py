"""What names resolve to here: the own host name, and MASTER_ADDR."""

import ipaddress

from msgspec import Struct

from gpudoctor.facts.interfaces import Interfaces


class Resolution(Struct, frozen=True, kw_only=True):
    """One answer of ``getaddrinfo``."""

    name: str
    addresses: list[str] = []
    error: str | None = None
    """The resolver's words, such as ``Name or service not known``."""
    seconds: float | None = None

    @property
    def loopback(self) -> bool:
        """Whether it resolves, and to loopback addresses alone."""
        return bool(self.addresses) and all(_is_loopback(a) for a in self.addresses)


class Names(Struct, frozen=True, kw_only=True):
    """The names that a rendezvous depends on."""

    own: Resolution
    """``socket.gethostname()``: the address that torch's rendezvous and gloo hand to other ranks."""
    master: Resolution | None = None
    """MASTER_ADDR; ``None``: not set."""

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
        return not {*self.own.addresses, *interfaces.addresses}.isdisjoint(self.master.addresses)


def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).is_loopback
    except ValueError:  # an alias of a redacted report, such as ip-1: loopback addresses keep their numbers
        return False
