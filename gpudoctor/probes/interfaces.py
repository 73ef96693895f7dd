"""List the network interfaces."""

import os
import socket
from pathlib import Path
from typing import Any

from gpudoctor.facts import Interface, Interfaces
from gpudoctor.probes._files import text

INFINIBAND, NONE = "32", "65534"
"""ARPHRD_INFINIBAND and ARPHRD_NONE of if_arp.h."""


def probe(root: Path = Path("/")) -> Interfaces:
    """Read names, states and addresses (psutil), and from sysfs and procfs what each interface is."""
    import psutil

    addresses: dict[str, list[str]] = {}
    labels: dict[str, list[str]] = {}
    for name, found in psutil.net_if_addrs().items():
        device, label, _ = name.partition(":")
        addresses.setdefault(device, []).extend(
            a.address for a in found if a.family in (socket.AF_INET, socket.AF_INET6)
        )
        if label:
            labels.setdefault(device, []).append(name)
    routed = default_routes(root)
    return Interfaces(
        all=[
            Interface(
                name=name,
                # psutil's isup asks for a carrier, too (IFF_RUNNING)
                up="up" in state.flags.split(",") if state.flags else state.isup,
                addresses=addresses.get(name, []),
                mtu=state.mtu or None,
                speed_mbps=state.speed or None,
                loopback="loopback" in state.flags,
                virtual=not os.path.exists(f"/sys/class/net/{name}/device"),
                running=state.isup,
                labels=labels.get(name, []),
                default_route=name in routed,
                index=index(name),
                **described(root / "sys/class/net" / name, index(name), "loopback" in state.flags),
            )
            for name, state in psutil.net_if_stats().items()
        ],
        ipv6=ipv6(root),
    )


def index(name: str) -> int | None:
    """Return the kernel's number of an interface."""
    try:
        return socket.if_nametoindex(name)
    except OSError:  # it went away meanwhile
        return None


def described(folder: Path, number: int | None, loopback: bool) -> dict[str, Any]:
    """Return operstate, kind, master and parts, where sysfs shows this network namespace.

    A process that was moved into another network namespace may still see the old one's sysfs.
    """
    if loopback:
        return {"kind": "loopback", "operstate": text(folder / "operstate")}
    if number is not None and text(folder / "ifindex") not in ("", str(number)):
        return {}
    master = folder / "master"
    return {
        "operstate": text(folder / "operstate"),
        "kind": kind(folder),
        "master": os.path.basename(os.readlink(master)) if master.is_symlink() else None,
        "parts": sorted(p.name.removeprefix("lower_") for p in folder.glob("lower_*")),
    }


def kind(folder: Path) -> str:
    """Return what an interface is, by the marks that each driver leaves in its folder; empty: there is none."""
    if not folder.exists():
        return ""
    words = dict(line.split("=", 1) for line in text(folder / "uevent").splitlines() if "=" in line)
    special = {"wlan": "wireless", "wwan": "wireless"}
    sort = words.get("DEVTYPE", "")
    if sort in ("bridge", "bond", "vlan", "vxlan", "wireguard", "wlan", "wwan"):
        return special.get(sort, sort)
    marks = (("bonding", "bond"), ("bridge", "bridge"), ("wireless", "wireless"), ("tun_flags", "tun"))
    for mark, said in marks:
        if (folder / mark).exists():
            return said
    if text(folder / "type") == INFINIBAND:
        return "infiniband"
    if (folder / "device").exists():
        return "ethernet"
    if text(folder / "type") == NONE:
        return "tun"
    below = list(folder.glob("lower_*"))
    paired = text(folder / "iflink") not in ("", "0", text(folder / "ifindex"))
    return "veth" if paired and not below else "virtual"


def default_routes(root: Path) -> set[str]:
    """Return the interfaces of default routes, IPv4's and IPv6's; a route that refuses is none."""
    found = set()
    for line in text(root / "proc/net/route").splitlines()[1:]:
        fields = line.split()
        if len(fields) > 7 and fields[1] == fields[7] == "00000000" and not int(fields[3], 16) & 0x200:
            found.add(fields[0])
    for line in text(root / "proc/net/ipv6_route").splitlines():
        fields = line.split()
        if len(fields) > 9 and fields[0] == "0" * 32 and fields[1] == "00" and fields[9] != "lo":
            found.add(fields[9])
    return found


def ipv6(root: Path) -> bool | None:
    """Return whether the kernel speaks IPv6; ``None`` where there is no procfs."""
    if not (root / "proc/net").exists():
        return None
    if not (root / "proc/net/if_inet6").exists():
        return False
    return text(root / "proc/sys/net/ipv6/conf/all/disable_ipv6") != "1"
