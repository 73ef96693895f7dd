"""hostname-resolution: a name that ranks depend on leads nowhere, or to the rank itself."""

import pytest

from gpudoctor.facts import Interface, Interfaces, Launch, Names, Resolution
from gpudoctor.guard import examine
from gpudoctor.model import Kind, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("hostname-resolution")
MESSAGE = "a host name does not lead to an address that the other ranks can reach"
EXAMPLES = {
    (
        "[W1120 09:42:53.98 socket.cpp:764] [c10d] The IPv6 network addresses of "
        "(trainer-7.invalid, 42787) cannot be retrieved (gai error: -2 - Name or service not "
        "known)."
    ): MESSAGE + ": trainer-7.invalid (Name or service not known)",
    (
        "[W socket.cpp:601] [c10d] The IPv4 network addresses of (node-1, 29500) cannot be "
        "retrieved (gai error: -3 - Temporary failure in name resolution)."
    ): MESSAGE + ": node-1 (Temporary failure in name resolution)",
    (
        "[W socket.cpp:601] [c10d] The IPv6 network addresses of (node-1, 29500) cannot be "
        "retrieved (gai error: 11001 - No such host is known.)."
    ): MESSAGE + ": node-1 (No such host is known.)",
    "ValueError: host not found: Name or service not known": MESSAGE + " (Name or service not known)",
    (
        "[W ProcessGroupGloo.cpp:721] Warning: Unable to resolve hostname to a (local) "
        "address. Using the loopback address as"
    ): MESSAGE,
    (
        "RuntimeError: Gloo connectFullMesh failed with "
        "[../third_party/gloo/gloo/transport/tcp/pair.cc:144] no error"
    ): MESSAGE,
    (
        "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:769] connect "
        "[127.0.1.1]:60471: Connection refused"
    ): MESSAGE,
    "timed out connecting: SO_ERROR: Connection refused, remote=[127.0.1.1]:14215": MESSAGE,
    (
        "node1:93:937 [0] misc/socket.cc:329 NCCL WARN Net : error encountered when getting "
        "address info : Name or service not known"
    ): MESSAGE + " (Name or service not known)",
    "ssh: Could not resolve hostname worker-2: Name or service not known": MESSAGE + ": worker-2",
    "[W socket.cpp:401] [c10d] The local IPv6 network addresses cannot be retrieved (gai error: -2 - Name or service not known).": MESSAGE,
    "RuntimeError: [enforce fail at ../third_party/gloo/gloo/transport/tcp/device.cc:127] rp != nullptr. Unable to find address for: node-1.example": (
        MESSAGE + ": node-1.example"
    ),
    (
        '  File "/venv/lib/python3.11/site-packages/torch/distributed/rendezvous.py", line 296, in _env_rendezvous_handler\n'
        "socket.gaierror: [Errno -3] Temporary failure in name resolution"
    ): MESSAGE + " (Temporary failure in name resolution)",
    (
        "torchrun --nnodes=2 --nproc-per-node=8 train.py\n"
        "timed out connecting: SO_ERROR: Connection refused, remote=[127.0.0.1]:14215"
    ): MESSAGE,
    (
        "[W socket.cpp:764] [c10d] The IPv6 network addresses of (http://node-1, 29500) cannot be retrieved (gai error: -2 - "
        "Name or service not known)."
    ): "MASTER_ADDR is http://node-1, and must be a name or an address alone; the port is MASTER_PORT",
    (
        "torch.distributed.DistNetworkError: The client socket has timed out after 10000ms while trying to connect to "
        "(tcp://node-1, 29500)."
    ): "MASTER_ADDR is tcp://node-1, and must be a name or an address alone; the port is MASTER_PORT",
    (
        "[W1122 socket.cpp:764] [c10d] The IPv6 network addresses of (node-1:29500, 29500) cannot be retrieved (gai error: -2 - "
        "Name or service not known)."
    ): "MASTER_ADDR is node-1:29500, and must be a name or an address alone; the port is MASTER_PORT",
    (
        "ValueError: The hostname of the rendezvous endpoint 'http://node-1:29500' must be a dot-separated list of labels, an "
        "IPv4 address, or an IPv6 address."
    ): "the rendezvous endpoint is http://node-1:29500, and must be a name or an address, a colon and a port",
    "nslookup: can't resolve 'train-master-0': Name does not resolve": MESSAGE + ": train-master-0",
    "RuntimeError: Name or service not known": "a host name does not lead to an address that the other ranks can reach",
}
NOT_THIS = [
    "RuntimeError: Gloo connectFullMesh failed with [gloo/transport/tcp/pair.h:311] Connect timeout [none]",
    (
        "import torch.distributed as dist\n"
        '  File "/usr/lib/python3.11/urllib/request.py", line 1351, in do_open\n'
        "socket.gaierror: [Errno -2] Name or service not known\n"
        "urllib.error.URLError: <urlopen error [Errno -2] Name or service not known>"
    ),
    (
        "Gloo connectFullMesh failed with [gloo/transport/tcp/pair.cc:152] timed out connecting: SO_ERROR: Connection "
        "refused, remote=[127.0.0.1]:404$1"
    ),
    (
        "[W socket.cpp:601] [c10d] The IPv6 network addresses of (node-1, 29500) cannot be "
        "retrieved (gai error: -9 - Address family for hostname not supported)."
    ),
    "[W socket.cpp:697] [c10d] The hostname of the client socket cannot be retrieved. err=-3",
    "RuntimeError: The client socket has timed out after 60s while trying to connect to (10.0.0.4, 29500).",
    "RuntimeError: [../gloo/transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.4]:33212",
]
ETH0 = Interface(name="eth0", up=True, addresses=["fe80::1", "10.0.0.5"])
INTERFACES = Interfaces(
    all=[
        Interface(name="lo", up=True, addresses=["127.0.0.1"], loopback=True),
        Interface(name="docker0", up=True, addresses=["172.17.0.1"], virtual=True),
        ETH0,
    ]
)
GOOD = Resolution(name="node-2", addresses=["10.0.0.5"])
LOOPBACK = Resolution(name="node-2", addresses=["127.0.1.1"])
UNKNOWN = Resolution(name="node-2", error="Name or service not known")
TWO_NODES = Launch(variables={"WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8"})
ONE_NODE = Launch(variables={"WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "8"})


def run(own=GOOD, master=None, launch=None, interfaces=INTERFACES):
    facts = {"names": Names(own=own, master=master), "launch": launch, "interfaces": interfaces}
    return examine(
        CHECK, Source.ENVIRONMENT, Snapshot({name: fact for name, fact in facts.items() if fact is not None})
    )


def test_a_loopback_name_is_a_note_on_a_lone_machine():
    for launch in (None, Launch(), ONE_NODE):
        _, [finding] = run(own=LOOPBACK, launch=launch)
        assert finding.severity is Severity.NOTE
        assert "node-2 resolves to 127.0.1.1 alone, fine on one machine" in finding.message


def test_a_loopback_name_is_an_error_where_a_launch_spans_nodes():
    _, [finding] = run(own=LOOPBACK, launch=TWO_NODES)
    assert finding.severity is Severity.ERROR
    [line] = [fix.command for fix in finding.fixes if fix.kind is Kind.ADMIN]
    assert r"s/\snode-2(\.\S+)?\b//g" in line
    assert line.endswith('echo "10.0.0.5 node-2" | sudo tee -a /etc/hosts')
    assert "export GLOO_SOCKET_IFNAME=eth0 NCCL_SOCKET_IFNAME=eth0" in [fix.command for fix in finding.fixes]


def test_it_is_an_error_where_rank_0_is_on_another_machine():
    master = Resolution(name="node-1", addresses=["10.0.0.4"])
    _, [finding] = run(own=LOOPBACK, master=master, launch=Launch(variables={"MASTER_ADDR": "node-1"}))
    assert finding.severity is Severity.ERROR
    here = Resolution(name="10.0.0.5", addresses=["10.0.0.5"])
    assert run(own=LOOPBACK, master=here)[1][0].severity is Severity.NOTE


def test_gloo_that_is_told_its_interface_does_not_need_the_name():
    launch = Launch(variables={**TWO_NODES.variables, "GLOO_SOCKET_IFNAME": "eth0"})
    assert run(own=LOOPBACK, launch=launch)[1][0].severity is Severity.WARNING


def test_a_name_that_does_not_resolve():
    _, [finding] = run(own=UNKNOWN)
    assert finding.severity is Severity.WARNING
    assert "does not resolve (Name or service not known)" in finding.message
    _, [finding] = run(own=UNKNOWN, launch=TWO_NODES)
    assert finding.severity is Severity.ERROR


def test_a_master_that_does_not_resolve_is_an_error():
    master = Resolution(name="node-1", error="Name or service not known")
    _, [finding] = run(master=master)
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith("MASTER_ADDR node-1 does not resolve: Name or service not known")
    assert finding.fixes[0].command == "export MASTER_ADDR=localhost"


def test_a_loopback_master_is_an_error_where_a_launch_spans_nodes():
    master = Resolution(name="localhost", addresses=["127.0.0.1"])
    _, [finding] = run(master=master, launch=TWO_NODES)
    assert "every node looks for rank 0 on itself" in finding.message


@pytest.mark.parametrize(
    ("rank", "more", "count"), [("0", {}, 0), ("1", {}, 1), ("0", {"GROUP_RANK": "0"}, 1)]
)
def test_the_master_of_a_pytorch_job_is_told_localhost(rank, more, count):
    variables = {
        "KUBERNETES_SERVICE_HOST": "10.96.0.1",
        "RANK": rank,
        "WORLD_SIZE": "2",
        "PET_NNODES": "2",
        **more,
    }
    master = Resolution(name="localhost", addresses=["127.0.0.1"])
    _, found = run(master=master, launch=Launch(variables=variables))
    assert len(found) == count


def test_loopback_before_the_address():
    """Run with torch 2.15 and such a hosts file: gloo listens at 127.0.1.1."""
    own = Resolution(name="node-2", addresses=["127.0.1.1", "10.0.0.5"])
    _, [finding] = run(own=own, launch=TWO_NODES)
    assert "resolves to 127.0.1.1, 10.0.0.5, loopback first, and this launch spans nodes" in finding.message
    told = Launch(variables={**TWO_NODES.variables, "GLOO_SOCKET_IFNAME": "eth0"})
    assert run(own=own, launch=told)[1] == []


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"launch": TWO_NODES},
        {"master": Resolution(name="localhost", addresses=["127.0.0.1", "::1"]), "launch": ONE_NODE},
        {"master": Resolution(name="node-1", addresses=["10.0.0.4"]), "launch": TWO_NODES},
        {"own": Resolution(name="host-1", addresses=["ip-1"])},  # a redacted report
        {"own": Resolution(name="node-2", addresses=["10.0.0.5", "127.0.1.1"]), "launch": TWO_NODES},
        {"own": Resolution(name="node-2", addresses=["127.0.1.1", "10.0.0.5"]), "launch": ONE_NODE},
    ],
)
def test_passes(facts):
    result, findings = run(**facts)
    assert result.status is CheckStatus.PASSED, findings


def test_without_interfaces_the_fix_has_placeholders():
    _, [finding] = run(own=LOOPBACK, launch=TWO_NODES, interfaces=None)
    assert any("ADDRESS node-2" in fix.command for fix in finding.fixes)


def test_unknown():
    assert examine(CHECK, Source.ENVIRONMENT, Snapshot())[0].reason == "names: not in this report"
