"""address-family: in logs and before the training."""

from typing import Any

from gpudoctor.facts import Interface, Interfaces, Launch, Names, Resolution
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

MESSAGE = "the nodes' addresses are of different families, IPv4 and IPv6, or one is switched off"
EXAMPLES = {
    (
        "[rank0]: RuntimeError: [enforce fail at ../third_party/gloo/gloo/transport/tcp/device.cc:276] ss1.ss_family == "
        "ss2.ss_family. 2 vs 10"
    ): MESSAGE + " (family 2 meets 10)",
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:210] address family mismatch": MESSAGE,
    "[enforce fail at ../third_party/gloo/gloo/transport/tcp/address.cc:40] Unknown address family: 0": MESSAGE,
    "node1:4711:4790 [0] include/socket.h:344 WARN Socket creation failed : Address family not supported by protocol": MESSAGE,
    "node1:4711:4790 [0] misc/socket.cc:90 NCCL WARN Net : unsupported IP family": MESSAGE,
    "node1:4711:4790 [0] NCCL WARN NET/IB: Ip address '10.0.0.1' is invalid for family AF_INET6, ignoring address": (
        MESSAGE + " (NCCL was told AF_INET6)"
    ),
    (
        "node1:4711:4790 [0] NCCL INFO NCCL_SOCKET_FAMILY set by environment to AF_INET6\n"
        "node1:4711:4790 [0] NCCL WARN ncclSocketInit: connecting to address  with family 0 is neither AF_INET(2) nor "
        "AF_INET6(10)"
    ): MESSAGE + " (NCCL was told AF_INET6)",
    (
        "[W socket.cpp:600] [c10d] The client socket cannot be initialized to connect to [node1]:29500 (errno: 97 - Address "
        "family not supported by protocol).\n"
        "[E socket.cpp:610] [c10d] The client socket has failed to connect to any network address of (node1, 29500)."
    ): MESSAGE + ": no connection to node1",
    (
        "[W socket.cpp:764] [c10d] The IPv4 network addresses of (2001:db8::1, 29703) cannot be retrieved (gai error: -9 - "
        "Address family for hostname not supported)."
    ): MESSAGE + ": no connection to 2001:db8::1",
    (
        '  File "/opt/env/lib/python3.11/site-packages/torch/distributed/run.py", line 900, in main\n'
        "OSError: [Errno 97] Address family not supported by protocol"
    ): MESSAGE,
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:799] connect [fe80::1:2]:3121: Invalid argument": MESSAGE,
}
NOT_THIS = [
    (
        "[W socket.cpp:426] [c10d] The server socket cannot be initialized on [::]:29500 (errno: 97 - Address family not "
        "supported by protocol)."
    ),
    (
        "[W socket.cpp:600] [c10d] The client socket cannot be initialized to connect to [node1]:29500 (errno: 97 - Address "
        "family not supported by protocol)."
    ),
    (
        "[W socket.cpp:601] [c10d] The IPv6 network addresses of (10.0.0.1, 29500) cannot be retrieved (gai error: -9 - "
        "Address family for hostname not supported)."
    ),
    "node1:1:2 [0] NCCL WARN ncclSocketInit: connecting to address  with family 59936 is neither AF_INET(2) nor AF_INET6(10)",
    "OSError: [Errno 97] Address family not supported by protocol",
]

CHECK = Registry().check("address-family")
LO = Interface(name="lo", up=True, running=True, index=1, addresses=["127.0.0.1", "::1"], loopback=True)
ETH0 = Interface(name="eth0", up=True, running=True, index=2, addresses=["10.0.0.4"], default_route=True)


def run(**facts: Any) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def master(*addresses: str) -> Names:
    own = Resolution(name="node1", addresses=["10.0.0.4"])
    return Names(own=own, master=Resolution(name=addresses[0], addresses=list(addresses)))


def test_an_ipv6_address_where_there_is_no_ipv6() -> None:
    interfaces = Interfaces(all=[LO, ETH0], ipv6=False)
    result, [finding] = run(interfaces=interfaces, names=master("fd00::1"))
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.ERROR
    assert "has no IPv6 address to speak from (IPv6 is switched off)" in finding.message


def test_nccl_is_told_a_family_without_addresses() -> None:
    launch = Launch(variables={"NCCL_SOCKET_FAMILY": "AF_INET6"})
    _, [finding] = run(interfaces=Interfaces(all=[LO, ETH0]), launch=launch)
    assert "eth0, which NCCL would take, has no IPv6 address" in finding.message


def test_passes() -> None:
    both = Interface(name="eth0", up=True, running=True, addresses=["10.0.0.4", "fd00::4"])
    for interfaces, names in (
        (Interfaces(all=[LO, both]), master("fd00::1")),
        (Interfaces(all=[LO, ETH0]), master("10.0.0.9")),
        (Interfaces(all=[LO, ETH0], ipv6=False), master("fd00::1", "10.0.0.9")),
        (Interfaces(all=[LO, ETH0]), master("::1")),
        (Interfaces(all=[LO, ETH0]), master("127.0.0.1")),
        (Interfaces(all=[LO]), master("10.0.0.9")),
        (Interfaces(), master("fd00::1")),
    ):
        assert run(interfaces=interfaces, names=names)[1] == []


def test_unknown() -> None:
    assert run()[0].reason == "interfaces: not in this report"
