"""The packet filter of this machine, as far as it could be read.

What a machine sends to itself, to whichever of its addresses, comes in by ``lo``.
"""

from collections.abc import Iterable

from msgspec import Struct

LOOPBACK = "lo"
ENDS = {"accept": True, "drop": False, "reject": False}


class Rule(Struct, frozen=True, kw_only=True):
    """One rule that a new TCP connection meets."""

    target: str
    """``accept``, ``drop``, ``reject``, ``return``, or the name of the chain that goes on."""
    ports: list[tuple[int, int]] = []
    """Destination ports, from and to; empty: all."""
    interface: str = ""
    """It holds for packets that come in there alone, or go out there."""
    not_loopback: bool = False
    """It holds for what comes from other machines, or goes to them (``! -i lo``)."""
    conditional: bool = False
    """It asks for more than that, such as the other side's address: whether it holds is not known."""


class Filter(Struct, frozen=True, kw_only=True):
    """One table for packets that come in, or for those that go out."""

    source: str
    """The command that told it: ``nft``, ``iptables``, ``iptables-legacy``, ``ip6tables``, ``ip6tables-legacy``."""
    family: int | None = None
    """4 or 6, where it sees packets of that one alone; ``None``: of both."""
    name: str = ""
    policy: str = "accept"
    """What becomes of packets that no rule decides on."""
    start: str = "INPUT"
    outgoing: bool = False
    """It is asked for packets that this machine sends."""
    chains: dict[str, list[Rule]] = {}

    def lets_in(self, port: int, interfaces: Iterable[str] = ()) -> bool | None:
        """Return whether a connection comes through to a port; ``None``: that depends.

        `interfaces` are those by which it may come or, through an outgoing table, go; ``lo`` is this machine's own.
        """
        answer, certain = self._walk(self.start, port, set(interfaces), set())
        if answer is None:
            answer = ENDS.get(self.policy, True)
        return answer if certain else None

    def _walk(self, chain: str, port: int, by: set[str], seen: set[str]) -> tuple[bool | None, bool]:
        """Return what a chain decides (``None``: nothing), and whether that is certain."""
        certain = True
        for rule in self.chains.get(chain, []) if chain not in seen else []:
            if rule.ports and not any(first <= port <= last for first, last in rule.ports):
                continue
            if (rule.interface and rule.interface not in by) or (rule.not_loopback and by == {LOOPBACK}):
                continue
            if rule.conditional:
                certain = certain and rule.target not in ENDS and not self._decides(rule.target)
                continue
            if rule.target == "return":
                return None, certain
            answer, sure = ENDS.get(rule.target), True
            if answer is None:
                answer, sure = self._walk(rule.target, port, by, seen | {chain})
            certain = certain and sure
            if answer is not None:
                return answer, certain
        return None, certain

    def _decides(self, chain: str) -> bool:
        """Return whether a chain that may be entered could decide anything."""
        return bool(self.chains.get(chain))


class Firewall(Struct, frozen=True, kw_only=True):
    """All tables for packets that come in, and for those that go out."""

    filters: list[Filter] | None = None
    """``None``: this process may not read them; that takes root."""
    loopback: bool = False
    """The rules for what this machine sends to itself are among them; older reports left them out."""
    ufw: bool | None = None
    """``ENABLED`` of ``/etc/ufw/ufw.conf``."""
    firewalld: bool | None = None
    """Its service has processes (``/sys/fs/cgroup/system.slice/firewalld.service``)."""

    def stops(self, port: int, interfaces: Iterable[str] = (), family: int = 4) -> Filter | None:
        """Return the table that certainly keeps other machines from a port over IPv4 or IPv6, or ``None``."""
        return self._first(port, list(interfaces), family, (False,))

    def stops_going_out(self, port: int, interfaces: Iterable[str] = (), family: int = 4) -> Filter | None:
        """Return the table that certainly keeps this machine from a port of another one, or ``None``."""
        return self._first(port, list(interfaces), family, (True,))

    def stops_own(self, port: int, family: int = 4) -> Filter | None:
        """Return the table that certainly keeps this machine from a port of its own, or ``None``."""
        return self._first(port, [LOOPBACK], family, (False, True)) if self.loopback else None

    def _first(
        self, port: int, interfaces: list[str], family: int, outgoing: tuple[bool, ...]
    ) -> Filter | None:
        heard = [f for f in self.filters or [] if f.family in (None, family) and f.outgoing in outgoing]
        return next((f for f in heard if f.lets_in(port, interfaces) is False), None)
