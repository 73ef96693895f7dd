"""Network packets of one node are larger than the way to another one allows.

## What happens

Mostly nothing is said: ranks meet, small messages pass, and the first large collective hangs until the time-out. Tools
say "message too long, mtu=1450" or "Frag needed and DF set". Over RoCE or InfiniBand, NCCL since 2.20 may end with
"local access violation work queue error", since it no longer takes the smaller of both sides' MTU.

## Why

- One node sends packets of 9000 bytes (jumbo frames), and a switch or the other node takes 1500.
- The way goes through a tunnel (VXLAN of a Kubernetes overlay, WireGuard, VPN) that needs a part of each packet for
  itself, and the interfaces were left at 1500.
- A firewall drops the ICMP messages by which the sender would learn it.

## How to tell

`grep . /sys/class/net/*/mtu` must say the same for the same interface on all nodes. `ping -c 3 -M do -s 8972 NODE`
(for 9000; 1472 for 1500: 28 bytes are headers) must answer. `gpudoctor check --deep`, with MASTER_ADDR set on another
node than the first, sends such packets itself. Over InfiniBand compare `active_mtu` of `ibv_devinfo`.

## See also

- [nccl#1524](https://github.com/NVIDIA/nccl/issues/1524): two servers with different MTU
- [nccl#1957](https://github.com/NVIDIA/nccl/issues/1957): packets of 4 KB where the interface has 1500: NCCL hung
"""

import re
from collections import Counter
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, count
from gpudoctor.facts import Interface, Interfaces, Measurements, Packets, means_nothing_elsewhere

SMALLEST = 1280
"""Bytes that IPv6 asks of every link (RFC 8200, section 5)."""

COMPARE = Fix("Compare the nodes", "grep . /sys/class/net/*/mtu")
ANOTHER = Fix(
    "Take an interface without the tunnel; `ip -br addr` lists them",
    "export NCCL_SOCKET_IFNAME=INTERFACE GLOO_SOCKET_IFNAME=INTERFACE",
)
ONE_MTU = Fix(
    "Give all nodes and the switch between them one MTU",
    "sudo ip link set INTERFACE mtu 1500",
    Kind.ADMIN,
    proof="mtu 1500",
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where one machine alone shows it",
    symptoms=[
        r"local error: [Mm]essage too long,? mtu ?[=:] ?(?P<mtu>\d+)",
        r"Frag(?:mentation)? needed and DF set(?: \(mtu ?= ?(?P<mtu>\d+)\))?",
        r"(?:NCCL|c10d|gloo/|UCX|[Ss]ocket).{0,200}: Message too long\b",
        r"\b(?:MTU|mtu) mismatch\b",
        r"mtu greater than device maximum",
    ],
    message=(
        "packets are larger than the network between the nodes allows[ (<mtu> bytes)]: small messages "
        "pass, large ones hang"
    ),
    fixes=[COMPARE, Fix("Find the largest packet that passes", "tracepath NODE"), ANOTHER, ONE_MTU],
)


@check.environment
def environment(interfaces: Interfaces, measured: Measurements | None) -> Iterator[Finding]:
    """Packets that were sent are lost by their size, or one of several links alike has another MTU than the rest."""
    tried = measured.connection if measured is not None else None
    if tried is not None and tried.packets is not None and tried.packets.passed is False:
        yield _lost(tried.packets, tried.host)
    for links in _alike(interfaces):
        sizes = Counter(link.mtu for link in links)
        usual, times = sizes.most_common(1)[0]
        odd = [link for link in links if link.mtu != usual]
        if not odd or len(links) < 3 or len(odd) * 2 >= times:
            continue
        names = ", ".join(link.name for link in odd)
        values = ", ".join(sorted({str(link.mtu) for link in odd}))
        message = (
            f"{names} has an MTU of {values}, and {count(times, 'other link')} of its kind {usual}: "
            "large messages between nodes hang or break where the sizes meet"
        )
        fix = Fix("Give it the others' MTU", f"sudo ip link set {odd[0].name} mtu {usual}", Kind.ADMIN)
        yield check.found(message, severity=Severity.WARNING, fixes=[COMPARE, fix])
    for one in interfaces.usable:
        if (
            one.kind in ("ethernet", "infiniband", "veth", "bond")
            and one.mtu is not None
            and one.mtu < SMALLEST
        ):
            message = (
                f"{one.name} has an MTU of {one.mtu}, less than any network between nodes has: IPv6 needs {SMALLEST}, and each message "
                "is cut into many small packets"
            )
            fix = Fix("Give it the MTU of Ethernet", f"sudo ip link set {one.name} mtu 1500", Kind.ADMIN)
            yield check.found(message, severity=Severity.WARNING, fixes=[fix])


def _lost(sent: Packets, host: str) -> Finding:
    """Say what became of packets of the interface's own size; what a router told of, TCP gets by, and RDMA does not."""
    look = Fix("Find the largest packet that passes", f"tracepath {host}")
    if sent.told is not None and sent.told < sent.bytes:
        message = (
            f"packets of {sent.bytes} bytes, as this machine sends them, do not pass to {host}: a router on the way allows {sent.told}; "
            "TCP takes that size by itself, RoCE does not"
        )
        return check.found(message, severity=Severity.WARNING, fixes=[look, COMPARE])
    message = (
        f"packets of {sent.bytes} bytes, as this machine sends them, are lost on the way to {host}, and small ones arrive: ranks meet, "
        "and the first large message hangs"
    )
    return check.found(message, fixes=[look, COMPARE, ANOTHER, ONE_MTU])


def _alike(interfaces: Interfaces) -> Iterator[list[Interface]]:
    """Yield links of one kind, speed and naming, none of which leads to the rest of the world."""
    groups: dict[tuple[str, int | None, str], list[Interface]] = {}
    for one in interfaces.usable:
        leads = one.default_route or one.master or not one.runs or means_nothing_elsewhere(one)
        if leads or one.mtu is None or one.kind not in ("ethernet", "infiniband", "veth"):
            continue
        groups.setdefault((one.kind, one.speed_mbps, re.sub(r"\d+", "", one.name)), []).append(one)
    yield from groups.values()
