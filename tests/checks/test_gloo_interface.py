"""gloo-interface: in logs and before the training."""

from typing import Any

from gpudoctor.facts import Interface, Interfaces, Launch, Names, Resolution
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

EXAMPLES = {
    (
        "[rank0]: RuntimeError: [enforce fail at /__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/device.cc:84] "
        "ifa != nullptr. Unable to find address for: eth9"
    ): "gloo has no way to the other ranks: no interface eth9 with an address",
    (
        "  what():  [enforce fail at ../third_party/gloo/gloo/transport/tcp/device.cc:83] ifa != nullptr. Unable to find "
        "address for: ^lo"
    ): "gloo has no way to the other ranks: no interface ^lo with an address",
    "RuntimeError: [enforce fail at gloo/transport/ibverbs/device.cc:60] Unable to find interface for: mlx9_0": (
        "gloo has no way to the other ranks: no interface mlx9_0 with an address"
    ),
    (
        "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:799] connect [172.17.0.2]:33445: Connection "
        "refused"
    ): "gloo has no way to the other ranks: it tried 172.17.0.2",
    "timed out connecting: SO_ERROR: Connection refused, remote=[192.168.122.1]:14215": (
        "gloo has no way to the other ranks: it tried 192.168.122.1"
    ),
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:799] connect [10.8.0.2]:33445: No route to host": (
        "gloo has no way to the other ranks: it tried 10.8.0.2, No route to host"
    ),
    (
        "torchrun --nproc-per-node=2 train.py\n"
        "RuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/pair.h:311] Connect timeout [none]"
    ): "gloo has no way to the other ranks",
    "RuntimeError: [../third_party/gloo/gloo/transport/tcp/pair.cc:144] Connect timeout [10.8.0.1]:33445": (
        "gloo has no way to the other ranks: it tried 10.8.0.1"
    ),
    (
        "RuntimeError: In connectFromLoop at tensorpipe/transport/uv/uv.h: EADDRNOTAVAIL: address not available (this error "
        "originated at tensorpipe/transport/uv/context.cc)"
    ): "gloo has no way to the other ranks",
    "RuntimeError: Unable to find address for: ens5": "gloo has no way to the other ranks: no interface ens5 with an address",
}
NOT_THIS = [
    "RuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/pair.h:311] Connect timeout [none]",
    "node1:4711:4790 [0] bootstrap.cc:37 NCCL WARN Bootstrap : no socket interface found",
    "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:769] connect [127.0.1.1]:60471: Connection refused",
    (
        "RuntimeError: [enforce fail at ../third_party/gloo/gloo/transport/tcp/device.cc:127] rp != nullptr. Unable to find "
        "address for: node-1.example"
    ),
    "RuntimeError: [../gloo/transport/tcp/pair.cc:598] Connection closed by peer [172.17.0.2]:33212",
]

CHECK = Registry().check("gloo-interface")
LO = Interface(name="lo", up=True, running=True, index=1, addresses=["127.0.0.1", "::1"], loopback=True)
ETH0 = Interface(name="eth0", up=True, running=True, index=2, addresses=["10.0.0.4"], default_route=True)
TWO_NODES = Launch(variables={"WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8"})


def run(**facts: Any) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def test_a_name_that_is_not_there() -> None:
    launch = Launch(variables={"GLOO_SOCKET_IFNAME": "ens5"})
    result, [finding] = run(interfaces=Interfaces(all=[LO, ETH0]), launch=launch)
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.ERROR
    assert "this machine has no interface ens5; it has eth0" in finding.message
    assert finding.fixes[0].command == "export GLOO_SOCKET_IFNAME=eth0"


def test_loopback_serves_one_machine_and_not_two() -> None:
    interfaces = Interfaces(all=[LO, ETH0])
    one = Launch(variables={"GLOO_SOCKET_IFNAME": "lo", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "8"})
    assert run(interfaces=interfaces, launch=one)[0].status is CheckStatus.PASSED
    two = Launch(variables={**TWO_NODES.variables, "GLOO_SOCKET_IFNAME": "lo"})
    assert run(interfaces=interfaces, launch=two)[0].status is CheckStatus.FOUND


def test_the_own_name_is_the_address_of_a_bridge() -> None:
    docker = Interface(name="docker0", up=True, running=True, addresses=["172.17.0.1"])
    facts = {
        "interfaces": Interfaces(all=[LO, ETH0, docker]),
        "names": Names(own=Resolution(name="node2", addresses=["172.17.0.1"])),
    }
    assert run(**facts)[0].status is CheckStatus.PASSED
    _, [finding] = run(**facts, launch=TWO_NODES)
    assert "172.17.0.1, the address of docker0: gloo publishes it" in finding.message


def test_what_is_down_is_interface_downs() -> None:
    down = Interface(name="eth1", up=False, addresses=["10.1.0.4"])
    launch = Launch(variables={"GLOO_SOCKET_IFNAME": "eth1"})
    assert run(interfaces=Interfaces(all=[LO, down]), launch=launch)[0].status is CheckStatus.PASSED


def test_unknown() -> None:
    assert run()[0].reason == "interfaces: not in this report"
