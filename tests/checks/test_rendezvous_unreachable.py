"""rendezvous-unreachable: in logs, before the training, and by trying to connect."""

from typing import Any

import pytest

from gpudoctor.facts import (
    Connection,
    Filter,
    Firewall,
    Host,
    Interface,
    Interfaces,
    Launch,
    Measurements,
    Names,
    Resolution,
    Route,
    Rule,
)
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

MESSAGE = "this process could not connect"
EXAMPLES = {
    "gcs_rpc_client.h:151: Failed to connect to GCS at address 10.2.0.4:6379 within 5 seconds.": MESSAGE
    + " to 10.2.0.4 port 6379",
    "Unable to connect to GCS at head-0:6380. Check that (1) the versions match": MESSAGE
    + " to head-0 port 6380",
    "RuntimeError: Connection timed out": "this process could not connect: Connection timed out",
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
    "RendezvousConnectionError: The connection to etcd has failed. See inner exception for details.": MESSAGE,
    "etcd.EtcdConnectionFailed: Connection to etcd failed due to MaxRetryError": MESSAGE,
    "connect to 10.0.0.1 port 29500: Network is unreachable": MESSAGE + ": Network is unreachable",
    "NoValidAddressesFound: Horovod was unable to connect to service-1 on any of the following addresses: {}": (
        "this process could not connect to service-1"
    ),
    "ConnectionRefusedError: [Errno 111] Connection refused": "this process could not connect",
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
    'File "queue.py", line 3, in get\nRuntimeError: Connection refused',
]

CHECK = Registry().check("rendezvous-unreachable")
LO = Interface(name="lo", up=True, running=True, index=1, addresses=["127.0.0.1", "::1"], loopback=True)
ETH0 = Interface(name="eth0", up=True, running=True, index=2, addresses=["10.0.0.4"], default_route=True)
OWN = Resolution(name="node1", addresses=["10.0.0.4"])


def run(**facts: Any) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def names(**route: Any) -> Names:
    way = Route(address="10.99.0.1", **route)
    return Names(own=OWN, master=Resolution(name="10.99.0.1", addresses=["10.99.0.1"], routes=[way]))


def test_the_kernel_knows_no_way() -> None:
    result, [finding] = run(names=names(error="Network is unreachable"))
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.ERROR
    assert finding.message == "there is no way from here to MASTER_ADDR 10.99.0.1: Network is unreachable"
    assert "ip route get 10.99.0.1; ip -br addr" in [fix.command for fix in finding.fixes]


def test_rank_0_is_here_and_its_address_is_not() -> None:
    facts = {"names": names(source="10.0.0.4"), "interfaces": Interfaces(all=[LO, ETH0])}
    first, other = (Launch(variables={"RANK": rank, "WORLD_SIZE": "2"}) for rank in "01")
    _, [finding] = run(**facts, launch=first)
    assert "rank 0 opens its store here" in finding.message
    assert finding.severity is Severity.ERROR
    _, [finding] = run(**facts, launch=first, host=Host(container="docker"))
    assert finding.severity is Severity.WARNING
    assert run(**facts, launch=other)[1] == []
    pod = Launch(variables={**first.variables, "KUBERNETES_SERVICE_HOST": "10.96.0.1"})
    assert run(**facts, launch=pod)[1] == []


def test_a_name_of_which_one_address_is_reached_passes() -> None:
    ways = [
        Route(address="fd00::1", error="Network is unreachable"),
        Route(address="10.0.0.9", source="10.0.0.4"),
    ]
    both = Resolution(name="node9", addresses=["fd00::1", "10.0.0.9"], routes=ways)
    assert run(names=Names(own=OWN, master=both))[0].status is CheckStatus.PASSED


def test_loopback_that_is_down_is_another_checks() -> None:
    lost = Route(address="127.0.0.1", error="Network is unreachable")
    master = Resolution(name="localhost", addresses=["127.0.0.1"], routes=[lost])
    facts = {"names": Names(own=OWN, master=master), "interfaces": Interfaces(all=[LO, ETH0])}
    assert run(**facts)[0].status is CheckStatus.PASSED


def test_the_own_firewall() -> None:
    drop = Rule(target="drop", ports=[(29500, 29500)])
    firewall = Firewall(filters=[Filter(source="iptables", chains={"INPUT": [drop]})])
    here = Resolution(name="node1", addresses=["10.0.0.4"])
    variables = {"MASTER_PORT": "29500", "WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8"}
    facts = {
        "names": Names(own=OWN, master=here),
        "interfaces": Interfaces(all=[LO, ETH0]),
        "launch": Launch(variables=variables),
    }
    _, [finding] = run(**facts, firewall=firewall)
    assert finding.message == "this machine's firewall (iptables) lets no other node in to MASTER_PORT 29500"
    assert run(**facts, firewall=Firewall())[1] == []
    _, [note] = run(**facts, firewall=Firewall(ufw=True))
    assert note.severity is Severity.NOTE
    assert note.message == "ufw is active here, and only root can read whether it lets the other nodes in"
    assert run(**{**facts, "launch": Launch(variables={"MASTER_PORT": "29500"})}, firewall=firewall)[1] == []
    six = Resolution(name="node1", addresses=["fd00::4"])
    over_six = {**facts, "names": Names(own=OWN, master=six)}
    assert (
        run(**over_six, firewall=Firewall(filters=[Filter(source="iptables", family=4, policy="drop")]))[1]
        == []
    )
    _, [finding] = run(
        **over_six, firewall=Firewall(filters=[Filter(source="ip6tables", family=6, policy="drop")])
    )
    assert "(ip6tables) lets no other node in" in finding.message
    closed = Firewall(filters=[Filter(source="nft", policy="drop")])
    elsewhere = Names(own=OWN, master=Resolution(name="10.0.0.9", addresses=["10.0.0.9"]))
    _, [finding] = run(**{**facts, "names": elsewhere}, firewall=closed)
    assert "to ports 32768 to 60999, among which gloo and NCCL choose theirs" in finding.message


def test_a_firewall_between_the_ranks_of_one_machine() -> None:
    local = Resolution(name="127.0.0.1", addresses=["127.0.0.1"])
    facts = {
        "names": Names(own=OWN, master=local),
        "interfaces": Interfaces(all=[LO, ETH0]),
        "launch": Launch(variables={"MASTER_PORT": "29500", "WORLD_SIZE": "8", "LOCAL_WORLD_SIZE": "8"}),
    }
    drop = Rule(target="drop", ports=[(29500, 29500)], interface="lo")
    stops = Filter(source="iptables", chains={"INPUT": [drop]})
    _, [finding] = run(**facts, firewall=Firewall(filters=[stops], loopback=True))
    assert "stops what it sends to its own MASTER_PORT 29500: " in finding.message
    assert finding.fixes[0].command == "sudo iptables -I INPUT -i lo -j ACCEPT"
    assert run(**facts, firewall=Firewall(filters=[stops]))[1] == []  # of a report that left such rules out
    table = Filter(source="nft", name="inet mine", policy="drop", start="out", outgoing=True)
    _, [finding] = run(
        names=Names(own=OWN),
        interfaces=facts["interfaces"],
        firewall=Firewall(filters=[table], loopback=True),
    )
    assert "its own ports 32768 to 60999, among which gloo and NCCL choose theirs: " in finding.message
    assert finding.fixes[0].command == "sudo nft insert rule inet mine out oif lo accept"
    welcome = Rule(target="accept", interface="lo")
    usual = Filter(source="iptables", policy="drop", chains={"INPUT": [welcome]})
    assert run(**facts, firewall=Firewall(filters=[usual], loopback=True))[1] == []


def test_nothing_goes_out_to_rank_0() -> None:
    drop = Rule(target="reject", ports=[(29500, 29500)])
    table = Filter(source="iptables", start="OUTPUT", outgoing=True, chains={"OUTPUT": [drop]})
    elsewhere = Resolution(name="10.0.0.9", addresses=["10.0.0.9"])
    facts = {
        "names": Names(own=OWN, master=elsewhere),
        "interfaces": Interfaces(all=[LO, ETH0]),
        "launch": Launch(variables={"MASTER_PORT": "29500", "WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8"}),
    }
    _, [finding] = run(**facts, firewall=Firewall(filters=[table], loopback=True))
    assert finding.message == (
        "this machine's firewall (iptables) lets nothing out to MASTER_PORT 29500 of another node"
    )


def test_unknown() -> None:
    assert run()[0].reason == "names: not in this report"


def tried(outcome: str, reason: str = "") -> tuple[Result, list[Finding]]:
    connection = Connection(
        host="node1", port=29500, addresses=["10.0.0.4"], outcome=outcome, reason=reason, seconds=3.0
    )
    return run(names=Names(own=OWN), measurements=Measurements(connection=connection))


def test_silence_is_a_firewall_or_a_wrong_address() -> None:
    _, [finding] = tried("no answer", "no answer in 3 s")
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith(
        "node1 port 29500 gave no answer within 3 s: a firewall drops what is sent there"
    )
    assert finding.fixes[0].command == "ip route get 10.0.0.4; ip -br addr"


def test_no_route() -> None:
    _, [finding] = tried("unreachable", "No route to host")
    assert finding.message.startswith("node1 port 29500 cannot be reached: No route to host")


@pytest.mark.parametrize("outcome", ["connected", "refused", "unresolved"])
def test_a_machine_that_answers_is_reached_and_a_name_is_another_check(outcome: str) -> None:
    result, findings = tried(outcome)
    assert (result.status, findings) == (CheckStatus.PASSED, [])


FLAGGED = [
    """
import os
import socket
import torch.distributed as dist

def free_port():
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]

class Group:
    def join(self):
        dist.init_process_group("nccl")

def run(rank, size, function):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = str(free_port())  # <-
    os.environ["RANK"], os.environ["WORLD_SIZE"] = str(rank), str(size)
    function(rank)
""",
    """
from datetime import datetime
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def worker(rank, size):
    now = datetime.now()  # <-
    port = 20000 + now.minute * 60 + now.second
    dist.init_process_group("nccl", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(worker, nprocs=torch.cuda.device_count(), args=(torch.cuda.device_count(),))
""",
    """
import os, random, torch, torch.distributed as dist, torch.multiprocessing as mp, socket, datetime
def free_port():
    with socket.socket() as s:
        s.bind(("", 0)); return s.getsockname()[1]
def main(rank, world_size):
    dist.init_process_group("gloo", init_method=f"tcp://localhost:{free_port()}", rank=rank, world_size=world_size, timeout=datetime.timedelta(seconds=8))  # <-
    dist.destroy_process_group()
if __name__ == "__main__":
    mp.spawn(main, args=(2,), nprocs=2)
""",
    """
import os, random, torch, torch.distributed as dist, torch.multiprocessing as mp
def setup(rank, world_size):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = str(random.randint(10000, 20000))  # <-
    dist.init_process_group("nccl", rank=rank, world_size=world_size)
def main(rank, world_size):
    setup(rank, world_size)
    dist.destroy_process_group()
if __name__ == "__main__":
    mp.spawn(main, args=(2,), nprocs=2)
""",
    """
# another library's seed does not make these draw alike
import os, torch, torch.distributed as dist, torch.multiprocessing as mp
from random import randint
def work(rank, size):
    torch.manual_seed(7)
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(randint(20000, 30000))  # <-
    dist.init_process_group("gloo", rank=rank, world_size=size)
    dist.destroy_process_group()
def start():
    mp.spawn(work, nprocs=2, args=(2,))
""",
    """
# a function of another file, by its name
import os
import torch.distributed as dist
import torch.multiprocessing as mp
from helpers.net import find_free_port
def work(rank, size):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(find_free_port())  # <-
    dist.init_process_group("gloo", rank=rank, world_size=size)
    dist.destroy_process_group()
if __name__ == "__main__":
    mp.spawn(work, nprocs=2, args=(2,))
""",
]

FINE = [
    """
import os
import random
import torch.distributed as dist

def begin():
    port = os.getenv("MASTER_PORT") or random.randint(20000, 30000)
    dist.init_process_group(
        "nccl", init_method=f"env://localhost:{port}", rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"])
    )
""",
    """
import socket
import torch
import torch.distributed as dist
def free_port():
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]
def train(rank, port, world_size):
    dist.init_process_group("gloo", init_method=f"tcp://localhost:{port}", rank=rank, world_size=world_size)
    dist.barrier()
    dist.destroy_process_group()
def work(index, port, world_size):
    train(index + 1, port, world_size)
def main(port=None):
    size = 4
    if port is None:
        port = free_port()
    others = torch.multiprocessing.start_processes(work, nprocs=size - 1, args=(port, size), join=False)
    train(0, port, size)
    others.join()
""",
    """
from datetime import datetime
import torch
import torch.distributed as dist
import torch.multiprocessing as mp

def worker(rank, size, port):
    dist.init_process_group("nccl", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=size)
    dist.destroy_process_group()

if __name__ == "__main__":
    port = 20000 + datetime.now().second
    mp.spawn(worker, nprocs=torch.cuda.device_count(), args=(torch.cuda.device_count(), port))
""",
    """
import multiprocessing
import os
import socket
import torch.distributed as dist

def free_port():
    with socket.socket() as s:
        s.bind(("localhost", 0))
        return s.getsockname()[1]

def call(given):
    function, rank, size = given
    return function(rank=rank, world_size=size)

def in_processes(function, size=2):
    os.environ["MASTER_ADDR"] = "localhost"
    os.environ["MASTER_PORT"] = str(free_port())
    with multiprocessing.get_context("spawn").Pool(size) as pool:
        return pool.map(call, [(function, rank, size) for rank in range(size)])

class Group:
    def __enter__(self):
        dist.init_process_group("gloo", rank=self.rank, world_size=self.size)
        return self
""",
    """
import os
import socket
import torch.distributed as dist
import unittest

def free_port():
    with socket.socket() as s:
        s.bind(("localhost", 0))
        return s.getsockname()[1]

class Sharded(unittest.TestCase):
    def setUp(self):
        os.environ["RANK"], os.environ["WORLD_SIZE"] = "0", "1"
        os.environ["MASTER_ADDR"] = "localhost"
        os.environ["MASTER_PORT"] = str(free_port())
        dist.init_process_group("gloo")
""",
    """
# rank 0's choice is handed to all by MPI
import os
import socket
import torch.distributed as dist
from mpi4py import MPI

def setup():
    comm = MPI.COMM_WORLD
    os.environ["MASTER_ADDR"] = comm.bcast(socket.gethostname(), root=0)
    os.environ["RANK"], os.environ["WORLD_SIZE"] = str(comm.rank), str(comm.size)
    port = comm.bcast(free_port(), root=0)
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("nccl", init_method="env://")

def free_port():
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]
""",
    """
import os, socket
import torch.distributed as dist
import torch.multiprocessing as mp

def free_port():
    with socket.socket() as s:
        s.bind(("", 0))
        return s.getsockname()[1]

def main(rank, port, world_size):
    dist.init_process_group("gloo", init_method=f"tcp://localhost:{port}", rank=rank, world_size=world_size)
    dist.destroy_process_group()

def alone():
    os.environ["MASTER_PORT"] = str(free_port())
    dist.init_process_group("gloo", rank=0, world_size=1)

if __name__ == "__main__":
    mp.spawn(main, args=(free_port(), 2), nprocs=2)
""",
    """
import os, random, torch.distributed as dist, torch.multiprocessing as mp
def work(rank, size):
    random.seed(7)
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(random.randint(20000, 30000))
    dist.init_process_group("gloo", rank=rank, world_size=size)
    dist.destroy_process_group()
if __name__ == "__main__":
    mp.spawn(work, nprocs=2, args=(2,))
""",
    """
import os
import torch.distributed as dist
import torch.multiprocessing as mp
from helpers.net import find_free_port
def work(rank, size, port):
    os.environ["MASTER_ADDR"] = "127.0.0.1"
    os.environ["MASTER_PORT"] = str(port)
    dist.init_process_group("gloo", rank=rank, world_size=size)
    dist.destroy_process_group()
if __name__ == "__main__":
    mp.spawn(work, nprocs=2, args=(2, find_free_port()))
""",
    """
# the launcher's port, where there is one
import os
import torch.distributed as dist
from helpers.net import get_open_port
def main(rank, size):
    if "MASTER_PORT" not in os.environ:
        os.environ["MASTER_PORT"] = str(get_open_port())
    dist.init_process_group("gloo", rank=int(os.environ["RANK"]), world_size=int(os.environ["WORLD_SIZE"]))
main()
""",
]
