"""interface-down: in logs and before the training."""

from typing import Any

from gpudoctor.facts import Interface, Interfaces, Launch, Links, Names, Resolution
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

MESSAGE = "a network interface is down: connections over it fail"
EXAMPLES = {
    "[Fri Nov 20 09:12:01 2026] ixgbe 0000:01:00.0 eth0: NIC Link is Down": (
        "a network interface, eth0, is down: connections over it fail"
    ),
    "Nov 20 09:12:01 node0 kernel: e1000e: eth1 NIC: eno1: Link is Down": (
        "a network interface, eno1, is down: connections over it fail"
    ),
    "[84211.1] mlx5_core 0000:3b:00.0 ens3f0: Link down": (
        "a network interface, ens3f0, is down: connections over it fail"
    ),
    "bond0: (slave eth1): link status definitely down for interface eth1, disabling slave": (
        "a network interface, eth1, is down: connections over it fail"
    ),
    "[W socket.cpp:558] [c10d] The client socket has failed to connect to [node0]:1234 (errno: 100 - Network is down).": MESSAGE,
    "OSError: [Errno 100] Network is down": MESSAGE,
    (
        "[W socket.cpp:436] [c10d] The server socket has failed to bind to 10.0.0.9:29500 (errno: 99 - Cannot assign requested "
        "address)."
    ): "a network interface is down, or none has the address 10.0.0.9: connections over it fail",
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/listener.cc:40] bind: Cannot assign requested address": MESSAGE,
}
NOT_THIS = [
    "ixgbe 0000:01:00.0 eth0: NIC Link is Up 10 Gbps, Flow Control: RX/TX",
    "3: docker0: <NO-CARRIER,BROADCAST,MULTICAST,UP> mtu 1500 qdisc noqueue state DOWN",
    "[W socket.cpp:558] [c10d] The client socket has failed to connect to [node0]:1234 (errno: 113 - No route to host).",
    "node1:1:2 [0] NCCL WARN NET/IB : mlx5_0:1 Got async event : port error",
    "OSError: [Errno 99] Cannot assign requested address",
]

CHECK = Registry().check("interface-down")
LO = Interface(name="lo", up=True, running=True, index=1, addresses=["127.0.0.1", "::1"], loopback=True)
ETH0 = Interface(name="eth0", up=True, running=True, index=2, addresses=["10.0.0.4"], default_route=True)
DOWN = Interface(name="eth1", up=False, running=False, index=3, addresses=["10.1.0.4"])
GLOO = Launch(variables={"GLOO_SOCKET_IFNAME": "eth1"})


def run(**facts: Any) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def test_loopback_is_down() -> None:
    lo = Interface(name="lo", up=False, running=False, addresses=["127.0.0.1"], loopback=True)
    _, [finding] = run(interfaces=Interfaces(all=[lo, ETH0]))
    assert finding.message.startswith("lo is down: 127.0.0.1 does not answer")
    assert "sudo ip link set lo up" in [fix.command for fix in finding.fixes]


def test_what_a_variable_names_is_down() -> None:
    result, [finding] = run(interfaces=Interfaces(all=[LO, ETH0, DOWN]), launch=GLOO)
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.ERROR
    assert finding.message == "GLOO_SOCKET_IFNAME=eth1 names eth1, and eth1 is down: the ranks cannot use it"
    assert finding.fixes[0].command == "export GLOO_SOCKET_IFNAME=eth0"


def test_the_own_names_interface_is_down() -> None:
    names = Names(own=Resolution(name="node1", addresses=["10.1.0.4"]))
    _, [finding] = run(interfaces=Interfaces(all=[LO, ETH0, DOWN]), names=names)
    assert finding.severity is Severity.WARNING
    assert "the own name node1 is the address of eth1, which is down" in finding.message


def test_one_that_was_set_up_and_carries_nothing_is_a_note() -> None:
    _, [finding] = run(interfaces=Interfaces(all=[LO, ETH0, DOWN]))
    assert finding.severity is Severity.NOTE


def test_spare_ports_and_bridges_are_left_in_peace() -> None:
    spare = Interface(name="eth2", up=True, running=False, kind="ethernet")
    docker = Interface(name="docker0", up=True, running=False, kind="bridge", addresses=["172.17.0.1"])
    radio = Interface(name="wlan0", up=False, kind="wireless", addresses=["192.168.1.9"])
    result, _ = run(interfaces=Interfaces(all=[LO, ETH0, spare, docker, radio]), launch=Launch())
    assert result.status is CheckStatus.PASSED


def test_unknown() -> None:
    assert run()[0].reason == "the network interfaces are not known"


def test_links_whose_addresses_a_text_does_not_show() -> None:
    links = Links(all=[LO, ETH0, DOWN])
    _, [finding] = run(links=links, launch=GLOO)
    assert finding.message.endswith("eth1 is down: the ranks cannot use it")
    nccl = Launch(variables={"NCCL_SOCKET_IFNAME": "eth1"})
    assert run(links=links, launch=nccl)[0].status is CheckStatus.FOUND
    assert run(links=links, launch=Launch(variables={"NCCL_SOCKET_IFNAME": "eth"}))[1] == []
    assert run(links=links)[0].status is CheckStatus.PASSED
    assert run()[0].status is CheckStatus.UNKNOWN
