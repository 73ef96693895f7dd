"""Which interfaces NCCL and gloo take, by their own rules."""

import ipaddress
from collections.abc import Iterator, Mapping

from msgspec import Struct

from gpudoctor.facts.interfaces import Interface, Interfaces

FAMILIES = {"AF_INET": 4, "AF_INET6": 6}
# NCCL's findInterfaces: what it tries in turn where nothing is asked for.
ORDER = ("ib", "^docker,lo,virbr", "docker", "lo", "virbr")
OWN_TO_EACH_MACHINE = ("docker", "virbr", "veth", "br-", "cni", "flannel", "cali", "lxcbr", "lxdbr", "podman")
"""How interfaces are called whose addresses mean nothing on another machine."""


class NcclChoice(Struct, frozen=True, kw_only=True):
    """What NCCL takes: the first interface for its set-up, all of them for data over TCP."""

    interfaces: list[Interface] = []
    asked: str | None = None
    """NCCL_SOCKET_IFNAME, where NCCL heeds it (two characters or more)."""


def nccl_choice(interfaces: Interfaces, variables: Mapping[str, str]) -> NcclChoice:
    """Return what NCCL takes, by ``findInterfaces`` of its socket code; compared with NCCL 2.30.7.

    NCCL_SOCKET_IFNAME is a list of prefixes; ``=`` in front makes them names, ``^`` leaves them out. Without it come
    ib*, all but docker, lo and virbr, and then those.
    """
    family = FAMILIES.get(variables.get("NCCL_SOCKET_FAMILY", ""))
    asked = variables.get("NCCL_SOCKET_IFNAME", "")
    if len(asked) > 1:
        return NcclChoice(interfaces=list(_matching(interfaces, asked, family)), asked=asked)
    for names in ORDER:
        found = list(_matching(interfaces, names, family))
        if found:
            return NcclChoice(interfaces=found)
    return NcclChoice()


def nccl_asked(interfaces: Interfaces, variables: Mapping[str, str]) -> list[Interface]:
    """Return the interfaces that NCCL_SOCKET_IFNAME fits by name, up or down, with or without an address."""
    asked = variables.get("NCCL_SOCKET_IFNAME", "")
    return [i for i in interfaces.all if _fits(i.name, asked)] if len(asked) > 1 else []


def _fits(name: str, names: str) -> bool:
    without = names.startswith("^")
    names = names.removeprefix("^")
    exact = names.startswith("=")
    wanted = [n for n in (part.partition(":")[0] for part in names.removeprefix("=").split(",")) if n]
    fits = not wanted or any(name == n if exact else name.startswith(n) for n in wanted)
    return fits is not without


def _matching(interfaces: Interfaces, names: str, family: int | None) -> Iterator[Interface]:
    """Yield those with an address that the list asks for: IPv4 first, each in the kernel's order."""
    ordered = sorted(interfaces.all, key=lambda i: i.index or 0)
    seen: set[str] = set()
    for version in (4, 6):
        for one in ordered:
            if (
                not _fits(one.name, names)
                or one.name in seen
                or not one.runs
                or family not in (None, version)
            ):
                continue
            if any(_version(a) == version for a in one.addresses if a != "::1"):
                seen.add(one.name)
                yield one


def gloo_names(variables: Mapping[str, str]) -> list[str]:
    """Return the interfaces that GLOO_SOCKET_IFNAME names: full names between commas."""
    return [name for name in variables.get("GLOO_SOCKET_IFNAME", "").split(",") if name]


def means_nothing_elsewhere(interface: Interface) -> bool:
    """Return whether an interface's addresses lead nowhere from another machine: bridges of containers, loopback.

    A veth is the way out of a container where it is the only one, and is no such interface.
    """
    if interface.loopback:
        return True
    return interface.name.startswith(OWN_TO_EACH_MACHINE) and not interface.default_route


def outward_interfaces(interfaces: Interfaces) -> list[Interface]:
    """Return the interfaces over which other machines may reach this one, that of the default route first."""
    real = [i for i in interfaces.usable if i.runs and not means_nothing_elsewhere(i)]
    return sorted(real, key=lambda i: not i.default_route)


def outward_addresses(interfaces: Interfaces) -> set[str]:
    """Return the addresses from which this machine speaks to others: of what runs, neither loopback nor a bridge."""
    each = (address for one in outward_interfaces(interfaces) for address in one.addresses)
    return {address for address in each if not address.startswith("fe80:")}


def _version(address: str) -> int:
    try:
        return ipaddress.ip_address(address.partition("%")[0]).version
    except ValueError:  # an alias of a redacted report
        return 6 if ":" in address else 4
