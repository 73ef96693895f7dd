"""mtu-mismatch: in logs and before the training."""

from typing import Any

import pytest

from gpudoctor.facts import Connection, Interface, Interfaces, Measurements, Packets
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

MESSAGE = "packets are larger than the network between the nodes allows: small messages pass, large ones hang"
EXAMPLES = {
    "ping: local error: message too long, mtu=1450": (
        "packets are larger than the network between the nodes allows (1450 bytes): small messages pass, large "
        "ones hang"
    ),
    "ping: local error: Message too long, mtu: 1500": (
        "packets are larger than the network between the nodes allows (1500 bytes): small messages pass, large "
        "ones hang"
    ),
    "From 10.0.0.1 icmp_seq=1 Frag needed and DF set (mtu = 1450)": (
        "packets are larger than the network between the nodes allows (1450 bytes): small messages pass, large "
        "ones hang"
    ),
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:309] writev [10.0.0.2]:1234: Message too long": MESSAGE,
    "preflight: MTU mismatch between node0 (9000) and node1 (1500)": MESSAGE,
    "Error: mtu greater than device maximum.": MESSAGE,
}
NOT_THIS = [
    "2: eth0: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 1500 qdisc mq state UP",
    "node1:4711:4790 [0] NCCL INFO NET/IB: Dev 0 Port 1 qpn 58 mtu 3 GID 3 (0/A10B0A0AFFFF0000)",
    "node1:4711:4790 [0] bootstrap.cc:300 NCCL WARN Message truncated : received 1024 bytes instead of 256",
    "OSError: [Errno 36] File name too long",
]
REST = ": small messages pass, large ones hang"

CHECK = Registry().check("mtu-mismatch")


def run(**facts: Any) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def rail(number: int, mtu: int, **fields: Any) -> Interface:
    return Interface(
        name=f"eth{number}",
        up=True,
        running=True,
        kind="ethernet",
        addresses=[f"10.{number}.0.4"],
        mtu=mtu,
        speed_mbps=fields.pop("speed_mbps", 200000),
        **fields,
    )


def test_one_rail_differs() -> None:
    rails = [rail(n, 1500 if n == 3 else 9000) for n in range(8)]
    result, [finding] = run(interfaces=Interfaces(all=rails))
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("eth3 has an MTU of 1500, and 7 other links of its kind 9000")
    assert finding.fixes[-1].command == "sudo ip link set eth3 mtu 9000"


def test_packets_that_are_too_small_for_ipv6() -> None:
    _, [finding] = run(interfaces=Interfaces(all=[rail(0, 576, default_route=True)]))
    assert finding.message.startswith("eth0 has an MTU of 576, less than any network between nodes has")
    assert run(interfaces=Interfaces(all=[rail(0, 1280)]))[1] == []


def test_different_networks_may_differ() -> None:
    for rails in (
        [rail(0, 1500), rail(1, 9000)],
        [rail(0, 1500, default_route=True), rail(1, 9000), rail(2, 9000)],
        [rail(0, 1500, speed_mbps=25000), rail(1, 9000), rail(2, 9000), rail(3, 9000)],
        [rail(0, 1500), rail(1, 1500), rail(2, 9000), rail(3, 9000)],
    ):
        assert run(interfaces=Interfaces(all=rails))[0].status is CheckStatus.PASSED


def test_unknown() -> None:
    assert run()[0].reason == "interfaces: not in this report"


@pytest.mark.parametrize(
    ("packets", "severity", "words"),
    [
        (Packets(bytes=9000, passed=False), Severity.ERROR, "packets of 9000 bytes, as this machine sends them, are lost"),
        (Packets(bytes=1500, passed=False, told=1450), Severity.WARNING, "a router on the way allows 1450"),
        (Packets(bytes=9000, passed=True), None, ""),
        (Packets(bytes=9000), None, ""),
        (None, None, ""),
    ],
)  # fmt: skip
def test_packets_that_were_sent(packets: Packets | None, severity: Severity | None, words: str) -> None:
    tried = Connection(host="node0", port=29500, outcome="connected", packets=packets)
    _, found = run(interfaces=Interfaces(), measurements=Measurements(connection=tried))
    assert [finding.severity for finding in found] == ([severity] if severity else [])
    assert all(
        words in finding.message and "tracepath node0" in finding.fixes[0].command for finding in found
    )
