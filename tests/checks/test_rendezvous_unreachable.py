"""rendezvous-unreachable: seen in logs, and by trying to connect."""

import pytest

from gpudoctor.facts import Connection, Measurements
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

MESSAGE = "this process could not connect"
EXAMPLES = {
    "RuntimeError: The client socket has timed out after 60000ms while trying to connect to (::1, 29500).": (
        MESSAGE + " to ::1 port 29500 within 60000 ms"
    ),
    "[W socket.cpp:558] [c10d] The client socket has failed to connect to [fd00::7]:29500 (errno: 111 - Connection refused).": (
        MESSAGE + " to fd00::7 port 29500: Connection refused"
    ),
    "RuntimeError: The client socket has timed out after 600000ms while trying to connect to (nid005216, 29500).": (
        MESSAGE + " to nid005216 port 29500 within 600000 ms"
    ),
    "[W socket.cpp:601] [c10d] The client socket has failed to connect to [node0]:29500 (errno: 111 - Connection refused).": (
        MESSAGE + " to node0 port 29500: Connection refused"
    ),
    "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed.": MESSAGE,
    "[c10d] The client socket cannot be initialized to connect to [node0]:29500": MESSAGE,
    "RuntimeError: connect() timed out: No route to host": MESSAGE + ": No route to host",
    "ValueError: TCPStore(host=10.0.0.1, port=29500): Connection refused": MESSAGE + ": Connection refused",
    "TimeoutError: The client socket has timed out after 1800s while trying to connect to (10.0.0.1, 42649).": (
        MESSAGE + " to 10.0.0.1 port 42649 within 1800 s"
    ),
    "[E socket.cpp:610] [c10d] The client socket has failed to connect to any network address of (192.0.2.7, 1234).": (
        MESSAGE + " to 192.0.2.7 port 1234"
    ),
    (
        "torch.distributed.DistNetworkError: The client socket has failed to connect to any network address of (192.0.2.7, "
        "29710). The client socket has failed to connect to 192.0.2.7:29710 (errno: 113 - No route to host)."
    ): MESSAGE + " to 192.0.2.7 port 29710: No route to host",
    (
        "[W socket.cpp:558] [c10d] The client socket has failed to connect to [::ffff:192.0.2.7]:29710 (errno: 110 - "
        "Connection timed out)."
    ): MESSAGE + " to 192.0.2.7 port 29710: Connection timed out",
    (
        "[rank1]:[E1120 12:05:14.274453827 TCPStore.cpp:328] [c10d] TCP client failed to connect/validate to host "
        "10.0.0.1:29701 - timed out (try=1, timeout=5000ms): interrupted"
    ): MESSAGE + " to 10.0.0.1 port 29701",
    "[I socket.cpp:500] [c10d] No socket on (10.0.0.1, 29500) is listening yet, will retry.": (
        MESSAGE + " to 10.0.0.1 port 29500"
    ),
    (
        "[I socket.cpp:500] [c10d] The server socket on [10.0.0.1]:29500 is not yet listening (errno: 111 - Connection "
        "refused), will retry."
    ): MESSAGE + " to 10.0.0.1 port 29500",
    "RuntimeError: connect() timed out. Original timeout was 1800000 ms.": MESSAGE + " within 1800000 ms",
    (
        '  File "/opt/env/lib/python3.7/site-packages/torch/distributed/rendezvous.py", line 172, in _env_rendezvous_handler\n'
        "    store = TCPStore(master_addr, master_port, world_size, start_daemon, timeout)\n"
        "RuntimeError: Connection refused"
    ): MESSAGE + ": Connection refused",
    "ssh: connect to host node2 port 22: Connection refused": (
        MESSAGE + " to node2 port 22: Connection refused"
    ),
    "RendezvousConnectionError: The connection to etcd has failed. See inner exception for details.": MESSAGE,
    "etcd.EtcdConnectionFailed: Connection to etcd failed due to MaxRetryError": MESSAGE,
    "connect to 10.0.0.1 port 29500: Network is unreachable": MESSAGE + ": Network is unreachable",
}
NOT_THIS = [
    "[c10d] The IPv6 network addresses of (node0, 29500) cannot be retrieved (gai error: -2 - Name or service not known).",
    "torch.distributed.DistStoreError: Timed out after 1801 seconds waiting for clients. 4/8 clients joined.",
    (
        "[W socket.cpp:697] [c10d] The client socket has failed to connect to [kubernetes.docker.internal]:29500 (system "
        "error: 10049 - The requested address is not valid in its context.)."
    ),
    (
        "W1120 [c10d] The client socket cannot be initialized to connect to [node1]:29500 (errno: 97 - Address family not "
        "supported by protocol)."
    ),
    (
        '  File "/opt/env/lib/python3.11/site-packages/torch/distributed/elastic/rendezvous/dynamic_rendezvous.py", line 1255, '
        "in num_nodes_waiting\n"
        "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed."
    ),
    "RuntimeError: Connection refused",
]


def tried(outcome, reason=""):
    connection = Connection(
        host="node1", port=29500, addresses=["10.0.0.4"], outcome=outcome, reason=reason, seconds=3.0
    )
    facts = {"measurements": Measurements(connection=connection)}
    return examine(Registry().check("rendezvous-unreachable"), Source.ENVIRONMENT, Snapshot(facts))


def test_silence_is_a_firewall_or_a_wrong_address():
    _, [finding] = tried("no answer", "no answer in 3 s")
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith(
        "node1 port 29500 gave no answer within 3 s: a firewall drops what is sent there"
    )
    assert finding.fixes[0].command == "ip route get 10.0.0.4; ip -br addr"


def test_no_route():
    _, [finding] = tried("unreachable", "No route to host")
    assert finding.message.startswith("node1 port 29500 cannot be reached: No route to host")


@pytest.mark.parametrize("outcome", ["connected", "refused", "unresolved"])
def test_a_machine_that_answers_is_reached_and_a_name_is_another_check(outcome):
    result, findings = tried(outcome)
    assert (result.status, findings) == (CheckStatus.PASSED, [])
