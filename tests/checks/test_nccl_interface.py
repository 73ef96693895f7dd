"""nccl-interface: in logs and before the training."""

from typing import Any

import pytest

from gpudoctor.facts import (
    ConfigurationFile,
    Host,
    Interface,
    Interfaces,
    Launch,
    NcclConfiguration,
    NcclStart,
)
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

MESSAGE = "NCCL has no network interface that reaches the other ranks"
EXAMPLES = {
    "gpu-03:811:902 [2] bootstrap.cc:91 NCCL WARN no device found matching roce9, verify NCCL_OOB_NET_IFNAME": (
        "NCCL has no network interface that reaches the other ranks: no device found matching roce9"
    ),
    "n1:8:9 [0] NCCL INFO Call to connect returned Connection timed out, retrying": "NCCL has no network interface that reaches the other ranks: Connection timed out",
    'worker pods return "call to connect returned Connection refused" and end with an NCCL runtime error': (
        "NCCL has no network interface that reaches the other ranks: Connection refused"
    ),
    "node0:4711:4711 [0] bootstrap.cc:37 NCCL WARN Bootstrap : no socket interface found": MESSAGE,
    "[2026-11-20 12:12:57] node0:988:988 [0] bootstrap.cc:126 (bootstrapNetInit) NCCL WARN Bootstrap : no socket interface found": MESSAGE,
    "[rank0]: Bootstrap : no socket interface found": MESSAGE,
    "node0:4711:4711 [0] transport/net_socket.cc:52 NCCL WARN NET/Socket : no interface found": MESSAGE,
    "node0:4711:4711 [0] bootstrap.cc:70 NCCL WARN NET/Socket : No usable listening interface found": MESSAGE,
    "node0:4711:4711 [0] transport/net_ib.cc:250 NCCL WARN NET/IB : No IP interface found.": MESSAGE,
    "[rank1]: ncclSocketInit: connecting to address  with family 59936 is neither AF_INET(2) nor AF_INET6(10)": MESSAGE,
    "node0:4711:4711 [0] misc/socket.cc:615 NCCL WARN Net : connecting to address  with family 0 is neither AF_INET(2) nor AF_INET6(10)": MESSAGE,
    "node0:4711:4711 [0] misc/socket.cc:203 NCCL WARN Net : No interface found in the same subnet as remote address 10.0.0.5<46671>": (
        MESSAGE + " at 10.0.0.5"
    ),
    (
        "node0:4711:4711 [0] bootstrap.cc:101 NCCL WARN Invalid NCCL_COMM_ID, please use format: <ipv4>:<port> or [<ipv6>]:<port> or "
        "<hostname>:<port>"
    ): MESSAGE,
    "node0:4711:4790 [0] include/socket.h:403 NCCL WARN Connect to 172.17.0.1<43211> failed : Connection refused": (
        MESSAGE + " at 172.17.0.1: Connection refused"
    ),
    "node0:4711:4790 [0] misc/socket.cc:441 NCCL WARN Net : Connect to 192.168.122.1<54263> failed : No route to host": (
        MESSAGE + " at 192.168.122.1: No route to host"
    ),
    "[rank2]: socketStartConnect: Connect to 192.168.0.3<36011> failed : Software caused connection abort": (
        MESSAGE + " at 192.168.0.3: Software caused connection abort"
    ),
    (
        "[2026-09-01 08:30:11] node1:812:860 [0] os/linux.cc:410 (socketStartConnect) NCCL WARN ncclOsSocketStartConnect: connect to "
        "10.0.0.3<36011> failed : Connection refused"
    ): MESSAGE + " at 10.0.0.3: Connection refused",
    (
        "node1:812:860 [0] misc/socket.cc:560 NCCL WARN socketPollConnect: Connect to 10.0.0.3<36011> returned 111(Connection refused) "
        "errno 115(Operation now in progress)"
    ): MESSAGE + " at 10.0.0.3: Connection refused",
    (
        "node1:812:860 [0] misc/socket.cc:520 NCCL WARN socketStartConnect: connect returned Connection timed out, exceeded error retry "
        "count (35)"
    ): MESSAGE + ": Connection timed out",
    (
        "node1:812:860 [0] os/linux.cc:433 (ncclOsSocketPollConnect) NCCL WARN ncclOsSocketPollConnect: connect to 10.0.0.3<36011> returned "
        "No route to host, exceeded error retry count after 35 attempts"
    ): MESSAGE + " at 10.0.0.3: No route to host",
    (
        "node1:812:860 [0] os/linux.cc:451 (ncclOsSocketPollConnect) NCCL WARN ncclOsSocketPollConnect to 10.0.0.3<36011> failed with error "
        "Connection refused"
    ): MESSAGE + " at 10.0.0.3: Connection refused",
    "node1:812:860 [0] misc/socket.cc:523 NCCL WARN socketStartConnect: exceeded retries (20000)": MESSAGE,
    "node1:81:86 [0] include/socket.h:360 WARN Call to connect failed : Connection timed out": (
        MESSAGE + ": Connection timed out"
    ),
}
NOT_THIS = [
    "node0:4711:4711 [0] NCCL INFO Bootstrap : Using docker0:172.17.0.1<0>",
    "node0:4711:4711 [0] NCCL INFO NET/IB : No device found.",
    "node0:4711:4711 [0] NCCL INFO NET/Socket : Using [0]eth0:10.0.0.2<0>",
    "node0:4711:4790 [0] NCCL INFO Call to connect returned Connection refused, retrying",
    "RuntimeError: [enforce fail at gloo/transport/tcp/device.cc:84] ifa != nullptr. Unable to find address for: eth9",
    "node0:4711:4711 [0] misc/socket.cc:620 NCCL WARN ncclSocketInit: Socket creation failed : Address family not supported by protocol",
    (
        "NCCL_SOCKET_FAMILY set by environment to AF_INET6\n"
        "NCCL WARN ncclSocketInit: connecting to address  with family 0 is neither AF_INET(2) nor AF_INET6(10)"
    ),
]

CHECK = Registry().check("nccl-interface")
LO = Interface(name="lo", up=True, running=True, index=1, addresses=["127.0.0.1", "::1"], loopback=True)
ETH0 = Interface(name="eth0", up=True, running=True, index=2, addresses=["10.0.0.4"], default_route=True)
TWO_NODES = Launch(variables={"WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8"})


def run(**facts: Any) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def test_nothing_fits() -> None:
    launch = Launch(variables={"NCCL_SOCKET_IFNAME": "ib0, eth0"})
    result, [finding] = run(interfaces=Interfaces(all=[LO, ETH0]), launch=launch)
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.ERROR
    assert "fits no interface of this machine with an address (it has eth0)" in finding.message
    assert "takes a space for a part of the name" in finding.message


def test_a_bridge_comes_first() -> None:
    bridge = Interface(name="br-1a2b", up=True, running=True, index=1, addresses=["172.18.0.1"])
    interfaces = Interfaces(all=[LO, bridge, ETH0])
    assert run(interfaces=interfaces, launch=Launch())[0].status is CheckStatus.PASSED
    _, [finding] = run(interfaces=interfaces, launch=TWO_NODES)
    assert finding.severity is Severity.WARNING
    assert "NCCL will take br-1a2b first" in finding.message


def test_what_nccls_file_says_counts_too() -> None:
    file = ConfigurationFile(path="/etc/nccl.conf", settings={"NCCL_SOCKET_IFNAME": "ens99"})
    facts = {"interfaces": Interfaces(all=[LO, ETH0]), "nccl_configuration": NcclConfiguration(files=[file])}
    for more in ({}, {"launch": Launch()}):
        _, [finding] = run(**facts, **more)
        assert finding.message.startswith(
            "NCCL_SOCKET_IFNAME is ens99 in /etc/nccl.conf, which fits no interface"
        )
        assert finding.fixes[0].command == "grep -n NCCL_SOCKET_IFNAME /etc/nccl.conf"
    mine = Launch(variables={"NCCL_SOCKET_IFNAME": "eth0"})  # the environment wins
    assert run(**facts, launch=mine)[0].status is CheckStatus.PASSED


def test_passes() -> None:
    for name in ("eth", "=eth0", "^lo,docker", "^docker0"):
        launch = Launch(variables={**TWO_NODES.variables, "NCCL_SOCKET_IFNAME": name})
        assert run(interfaces=Interfaces(all=[LO, ETH0]), launch=launch)[1] == [] or name == "^docker0"


def test_unknown() -> None:
    assert run()[0].reason == "interfaces: not known"


def test_an_interface_that_was_given_no_address() -> None:
    lo = Interface(name="lo", up=True, addresses=["127.0.0.1"], loopback=True)
    bare = Interface(name="eno2", up=True, running=True, addresses=["fe80::1%eno2"])
    launch = Launch(variables={"NCCL_SOCKET_IFNAME": "eno2"})
    _, [finding] = run(interfaces=Interfaces(all=[lo, bare]), launch=launch)
    assert (finding.severity, "eno2 was given no address" in finding.message) == (Severity.NOTE, True)
    routed = Interface(name="eno2", up=True, running=True, addresses=["fd00::7", "fe80::1%eno2"])
    assert run(interfaces=Interfaces(all=[lo, routed]), launch=launch)[1] == []


def test_a_device_for_the_set_up_that_is_none_here() -> None:
    eth0 = Interface(name="eth0", up=True, running=True, addresses=["10.0.0.4"])
    facts = {"interfaces": Interfaces(all=[eth0]), "host": Host(rdma={"mlx5_0": "InfiniBand"})}

    def asked(name: str) -> list[Finding]:
        variables = {"NCCL_OOB_NET_ENABLE": "1", "NCCL_OOB_NET_IFNAME": name}
        return run(launch=Launch(variables=variables), **facts)[1]

    [finding] = asked("eth9")
    assert "called so (it has eth0, mlx5_0)" in finding.message
    for name in ("eth", "=mlx5_0:1", "^eth9"):
        assert asked(name) == []


@pytest.mark.parametrize(
    ("taken", "launch", "severity"),
    [
        ({"a": ["docker0:172.17.0.1"], "b": ["eth0:10.0.0.4"]}, None, Severity.WARNING),
        (
            {"a": ["docker0:172.17.0.1"]},
            Launch.of({"SLURM_JOB_NUM_NODES": "2", "SLURM_JOB_ID": "1"}),
            Severity.WARNING,
        ),
        ({"a": ["docker0:172.17.0.1"]}, None, Severity.NOTE),
        ({"a": ["lo:127.0.0.1", "eth0:10.0.0.4"]}, None, Severity.NOTE),
    ],
)
def test_what_nccl_says_that_it_took(taken, launch, severity) -> None:
    facts = {"nccl_start": NcclStart(taken=taken)} | ({"launch": launch} if launch else {})
    result, [finding] = run(**facts)
    assert (result.status, finding.severity) == (CheckStatus.FOUND, severity)
    assert "no other machine reaches that address" in finding.message


@pytest.mark.parametrize(
    "taken",
    [
        {"a": ["eth0:10.0.0.3"], "b": ["bond0:10.0.0.4"]},
        {"a": ["lo:127.0.0.1"]},  # a machine without a network
        {"a": ["eth0:10.0.0.3", "docker0:172.17.0.1"]},
        {"pod": ["veth1:10.0.0.3"]},
    ],
)
def test_an_interface_that_leads_out(taken: dict[str, list[str]]) -> None:
    assert run(nccl_start=NcclStart(taken=taken))[0].status is CheckStatus.PASSED


@pytest.mark.parametrize(("nodes", "severity"), [(2, Severity.WARNING), (None, Severity.NOTE)])
def test_bridges_besides_one_that_leads_out(nodes: int | None, severity: Severity) -> None:
    taken = {"": ["bond0:10.0.0.3", "br-05ab815fa14e:172.19.0.1", "vethab12:fe80::1%vethab12"]}
    _, [finding] = run(nccl_start=NcclStart(taken=taken, nodes=nodes))
    assert finding.severity is severity
    assert finding.message.startswith(
        "NCCL sends over br-05ab815fa14e, vethab12 too: no other machine reaches"
    )


def test_loopback_between_machines_that_the_command_names() -> None:
    _, [finding] = run(nccl_start=NcclStart(taken={"a": ["lo:127.0.0.1"]}, nodes=2))
    assert finding.severity is Severity.WARNING
