"""``ip addr``, ``ip -br addr`` and ``ifconfig -a`` of today and of net-tools 1 -> network interfaces."""

import re
from collections.abc import Iterable
from typing import Any

from gpudoctor.facts import Interface, Interfaces, Links

_IP = re.compile(
    r"(?P<index>\d{1,4}): (?P<name>[\w.-]{1,32})(?:@\S{1,32})?: <(?P<flags>[A-Z_,0-9-]{2,200})>(?P<rest>.{0,300})"
)
_IFCONFIG = re.compile(
    r"(?P<name>[\w.-]{1,32}): flags=\d{1,6}<(?P<flags>[A-Z_,0-9-]{2,200})>(?P<rest>.{0,100})"
)
# net-tools 1: "eth0      Link encap:Ethernet  HWaddr …", and some lines below "UP BROADCAST RUNNING  MTU:1500"
_ENCAPSULATED = re.compile(r"(?P<name>[\w.-]{1,32})\s+Link encap:(?P<encapsulation>\w[\w ]{2,30})")
_FLAGS = re.compile(r"(?P<flags>(?:[A-Z]{2,12} )*(?:[A-Z]{2,12}) )\s?MTU:(?P<mtu>\d{1,6})")
# "eno1             UP             10.1.4.7/24 fe80::ae1f:6bff:fe00:1122/64"
_BRIEF = re.compile(
    r"(?P<name>[\w.-]{1,32})(?:@\S{1,32})?\s+(?P<state>UP|DOWN|UNKNOWN|LOWERLAYERDOWN|DORMANT)"
    r"(?P<addresses>(?:\s+[0-9a-fA-F.:]{2,45}/\d{1,3}(?: metric \d{1,6})?)*)"
    r"(?:\s+[0-9a-f:]{17,60} <(?P<flags>[A-Z_,0-9-]{2,200})>)?$"
)
_MTU = re.compile(r"\bmtu (\d{1,6})")
_ADDRESS = re.compile(r"inet6? (?:addr:)?(?P<address>[0-9a-fA-F.:]{2,45})(?:/\d{1,3})?(?: |$)")
# Names that the kernel's own virtual devices have, and container engines and bridges give.
_VIRTUAL = re.compile(r"(?:docker|veth|virbr|br-|cni|flannel|cali|lxc|lxd|tun|tap|wg|dummy|bond|podman|kube)")
_STATE = re.compile(r"\bstate ([A-Z]{2,16})")
_MASTER = re.compile(r"\bmaster ([\w.-]{1,32})")
_KINDS = {
    r"ib\d|ibp|ibs": "infiniband",
    r"wl": "wireless",
    r"veth|lxc|cali": "veth",
    r"docker|virbr|br-|br\d|cni|podman": "bridge",
    r"bond": "bond",
    r"tun|tap": "tun",
    r"wg": "wireguard",
    r"vxlan|flannel": "vxlan",
    r"en[ospx]|eth": "ethernet",
}
_MOST = 500


def read(lines: Iterable[str]) -> tuple[Interfaces | None, Links | None]:
    """Read all interfaces, or, where no address stands beside them, their links.

    Both are ``None`` without loopback among them: then the list is an excerpt, of which the links alone count.
    """
    shown = _shown(lines)
    if any(one.addresses for one in shown):
        return (Interfaces(all=shown) if any(one.loopback for one in shown) else None), None
    # "ip link" shows no addresses, which is not that there are none
    return None, (Links(all=shown) if shown else None)


def _shown(lines: Iterable[str]) -> list[Interface]:
    """Return the interfaces that the lines show.

    ``2: eth0@if7: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 … state UP`` … ``inet 10.20.3.4/16 … scope global eth0``
    """
    found: dict[str, dict[str, Any]] = {}
    current: dict[str, Any] | None = None
    for line in lines:
        begun = _begun(line)
        if begun is not None:
            known = begun["name"] in found or len(found) >= _MOST
            current = None if known else found.setdefault(begun["name"], begun)
        elif current is None:
            continue
        elif line.startswith("inet") and len(current["addresses"]) < 64:
            current["addresses"] += [match["address"] for match in [_ADDRESS.match(line[:200])] if match]
        elif "MTU:" in line and (match := _FLAGS.match(line[:200])):
            flags = match["flags"].split()
            current |= {"up": "UP" in flags, "running": "RUNNING" in flags, "mtu": int(match["mtu"])}
    return [Interface(**values) for values in found.values()]


def _begun(line: str) -> dict[str, Any] | None:
    """Return the interface that a line begins, in any of the forms; ``None`` for any other line."""
    if "<" in line and (match := _IP.match(line) or _IFCONFIG.match(line)):
        return _interface(
            match["name"], match.groupdict().get("index"), match["flags"].split(","), match["rest"]
        )
    if "Link encap:" in line and (match := _ENCAPSULATED.match(line[:200])):
        loopback = match["encapsulation"].startswith("Local Loopback")
        return _interface(match["name"], None, ["LOOPBACK"] if loopback else [], "")
    if ("/" in line or "DOWN" in line or line.endswith(">")) and (match := _BRIEF.match(line[:1000])):
        name, state = match["name"], match["state"]
        # of loopback, and of what has no link to lose, the kernel says UNKNOWN
        flags = ["UP", "LOWER_UP"] if state in ("UP", "UNKNOWN") else []
        flags = match["flags"].split(",") if match["flags"] else flags
        found = _interface(name, None, flags + (["LOOPBACK"] if name == "lo" else []), f"state {state}")
        return found | {
            "addresses": [word.partition("/")[0] for word in match["addresses"].split() if "/" in word]
        }
    return None


def _interface(name: str, index: str | None, flags: list[str], rest: str) -> dict[str, Any]:
    mtu, state, master = _MTU.search(rest), _STATE.search(rest), _MASTER.search(rest)
    loopback = "LOOPBACK" in flags
    return {
        "name": name,
        "index": int(index) if index else None,
        "up": "UP" in flags,
        "running": "LOWER_UP" in flags or "RUNNING" in flags,
        "operstate": state[1].lower() if state else "",
        "master": master[1] if master else None,
        "addresses": [],
        "mtu": int(mtu[1]) if mtu else None,
        "loopback": loopback,
        "virtual": loopback or _VIRTUAL.match(name) is not None,
        "kind": _kind(name, loopback),
    }


def _kind(name: str, loopback: bool) -> str:
    """Return what an interface is by the name that udev or a container engine gave it; empty: not known."""
    if loopback:
        return "loopback"
    return next((kind for prefix, kind in _KINDS.items() if re.match(prefix, name)), "")
