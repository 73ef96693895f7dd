"""port-in-use: another process listens on the rendezvous port."""

import pytest

from gpudoctor.facts import Interface, Interfaces, Launch, Listener, Names, Resolution, Sockets, Torch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("port-in-use")
MESSAGE = "another process listens on the port 29500 of the rendezvous already, so rank 0 cannot open its store there"
EXAMPLES = {
    "torch.distributed.DistNetworkError: on 10.1.0.4, port: 29611 already in use": (
        "another process listens on the port 29611 of the rendezvous already, so rank 0 cannot open its store there"
    ),
    "My second distributed job on this server says that the port is already in use": "another process listens on the port of the rendezvous already, so rank 0 cannot open its store there",
    '  File "/env/lib/python3.10/site-packages/torch/distributed/rendezvous.py", line 12, in f\nOSError: [Errno 98] 地址已在使用': "another process listens on the port of the rendezvous already, so rank 0 cannot open its store there",
    '  File "C:\\env\\torch\\distributed\\rendezvous.py", line 12, in f\nOSError: [WinError 10048] Only one usage of each socket address (protocol/network address/port) is normally permitted': "another process listens on the port of the rendezvous already, so rank 0 cannot open its store there",
    "ConnectionError: Tried to launch distributed communication on port `29500`, but another process is utilizing it. Please specify a different port": MESSAGE,
    "UserWarning: Port `29500` is already in use. Accelerate will try another": MESSAGE,
    "RuntimeError: [..\\\\..\\\\c10d\\\\socket.cpp] bind: Only one usage of each socket address (protocol/network address/port) is normally permitted.": MESSAGE.replace(
        " 29500", ""
    ),
    (
        "[W socket.cpp:436] [c10d] The server socket has failed to bind to [::]:29500 (errno: "
        "98 - Address already in use)."
    ): MESSAGE,
    (
        "[E socket.cpp:860] [c10d] The server socket has failed to listen on any local "
        "network address. port: 29500, useIpv6: false"
    ): MESSAGE,
    (
        "torch.distributed.DistNetworkError: The server socket has failed to listen on any "
        "local network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, "
        "message: address already in use"
    ): MESSAGE,
    "RuntimeError: Address already in use": (
        "another process listens on the port of the rendezvous already, so rank 0 cannot open its store there"
    ),
    (
        '  File "/venv/lib/python3.11/site-packages/torch/distributed/elastic/rendezvous/api.py", line 9, in bind\n'
        "OSError: [Errno 98] Address already in use"
    ): (
        "another process listens on the port of the rendezvous already, so rank 0 cannot open its store there"
    ),
    "OSError: [WinError 10048] Only one usage of each socket address (protocol/network address/port) is normally permitted": "another process listens on the port of the rendezvous already, so rank 0 cannot open its store there",
}
NOT_THIS = [
    "ERROR:    [Errno 10048] error while attempting to bind on address ('127.0.0.1', 9880): only one usage of each socket address (protocol/network address/port) is normally permitted",
    "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. The server socket has failed to bind to [::]:98 (errno: 13 - Permission denied).",
    "RuntimeError: The client socket has timed out after 60s while trying to connect to (10.0.0.4, 29500).",
    "W0101 The server socket is listening on [::]:29500.",
    "The server socket has failed to bind to 10.0.0.9:29500 (errno: 99 - Cannot assign requested address).",
    (
        "import torch.distributed as dist\n"
        '  File "/venv/lib/python3.11/site-packages/prometheus_client/exposition.py", line 222, in start_wsgi_server\n'
        "OSError: [Errno 98] Address already in use"
    ),
    "Error: listen EADDRINUSE: address already in use :::3000",
    "The server socket has failed to listen on any local network address. port: 80, useIpv6: 0, code: -13, name: EACCES",
]
BUSY = Sockets(listeners=[Listener(port=29500, pid=4711, command="python")])
OWN = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500", "RANK": "0", "WORLD_SIZE": "2"}


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def test_a_listener_on_the_port_of_this_launch_is_an_error_with_a_free_port():
    result, [finding] = run(launch=Launch(variables=OWN), sockets=BUSY)
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith("MASTER_PORT 29500 is held by python (pid 4711)")
    assert any(fix.command == "export MASTER_PORT=29501" for fix in finding.fixes)
    assert any("--master-port=29501" in fix.command for fix in finding.fixes), "torchrun reads no MASTER_PORT"
    assert any("-p 4711" in fix.command for fix in finding.fixes)


def test_the_free_port_that_is_offered_is_free():
    sockets = Sockets(listeners=[Listener(port=p) for p in (29500, 29501, 29502)])
    _, [finding] = run(launch=Launch(variables=OWN), sockets=sockets)
    assert "export MASTER_PORT=29503" in [fix.command for fix in finding.fixes]


@pytest.mark.parametrize(
    ("version", "nodes", "severity", "words"),
    [
        ("2.6.0+cu124", "1", Severity.WARNING, "any launch that names no port fails"),
        ("2.15.0+cu132", "1", Severity.NOTE, "a launch on several nodes that names no port fails"),
        ("2.15.0+cu132", "2", Severity.WARNING, "a launch on several nodes that names no port fails"),
        (None, "1", Severity.NOTE, "a launch on several nodes that names no port fails"),
    ],
)
def test_torchruns_default_port_fails_as_the_version_has_it(version, nodes, severity, words):
    launch = Launch(variables={"SLURM_NNODES": nodes})
    _, [finding] = run(launch=launch, sockets=BUSY, torch=Torch(version=version))
    assert finding.severity is severity
    assert finding.message.startswith("port 29500, torchrun's default, is held by python (pid 4711)")
    assert words in finding.message


def test_an_owner_that_cannot_be_seen_is_said_to_be_so():
    _, [finding] = run(launch=Launch(variables=OWN), sockets=Sockets(listeners=[Listener(port=29500)]))
    assert "may not see" in finding.message
    assert not any("ps -o" in fix.command for fix in finding.fixes)


def test_a_port_that_is_held_without_a_listener_is_taken_too():
    held = Listener(port=29500, pid=4711, command="python", listens=False)
    _, [finding] = run(launch=Launch(variables=OWN), sockets=Sockets(held=[held]))
    assert finding.severity is Severity.ERROR
    assert "MASTER_PORT 29500 is held by python (pid 4711)" in finding.message
    _, [finding] = run(
        launch=Launch(variables=OWN), sockets=Sockets(held=[Listener(port=29500, listens=False)])
    )
    assert "a socket that does not listen, of a process that gpudoctor cannot name" in finding.message


def test_passes():
    elsewhere = Names(
        own=Resolution(name="node-2", addresses=["10.0.0.5"]),
        master=Resolution(name="node-1", addresses=["10.0.0.4"]),
    )
    eth0 = Interfaces(all=[Interface(name="eth0", up=True, addresses=["10.0.0.5"])])
    no_rank = {k: v for k, v in OWN.items() if k != "RANK"}
    own_store = Sockets(listeners=[Listener(port=29500, pid=1, own=True)])
    for facts in (
        {"launch": Launch(variables=OWN), "sockets": Sockets()},
        {"launch": Launch(variables={**OWN, "RANK": "1"}), "sockets": BUSY},
        {"launch": Launch(variables={**OWN, "MASTER_PORT": "0"}), "sockets": BUSY},
        {"launch": Launch(variables={**OWN, "MASTER_PORT": "many"}), "sockets": BUSY},
        {"launch": Launch(variables=OWN), "sockets": own_store},
        {"launch": Launch(variables=no_rank), "sockets": BUSY, "names": elsewhere, "interfaces": eth0},
    ):
        assert run(**facts)[0].status is CheckStatus.PASSED, facts


def test_unknown_without_the_sockets():
    result, _ = run(launch=Launch(variables=OWN))
    assert result.status is CheckStatus.UNKNOWN
    assert result.reason == "sockets: not in this report"


FLAGGED = [
    """
import os

import torch.distributed as dist
import torch.multiprocessing as mp

def run(rank, world):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29571")  # <-
    dist.init_process_group("gloo", rank=rank, world_size=world)
    dist.destroy_process_group()

if __name__ == "__main__":
    mp.spawn(run, args=(2,), nprocs=2)
""",
    """
import torch.distributed as dist

dist.init_process_group("gloo", init_method="tcp://{}:23456".format(host), rank=rank, world_size=2)  # <-
dist.destroy_process_group()
""",
    ("spawn.py", {'os.environ.get("PORT", "29500")': '"12355"  # <-'}),
    """
import torch.distributed as dist

def setup(rank, size):
    dist.init_process_group("gloo", init_method="tcp://127.0.0.1:23456", rank=rank, world_size=size)  # <-
""",
    """
import os
import torch.distributed as dist

def setup(rank, size, port="29500"):
    host = os.environ["SLURM_SRUN_COMM_HOST"]
    dist.init_process_group("gloo", init_method="tcp://{}:{}".format(host, port), rank=rank, world_size=size)  # <-
""",
]
FINE = [
    ("spawn.py", {'os.environ.get("PORT", "29500")': "str(10000 + os.getuid() % 20000)"}),
    """
import os
import torch.distributed as dist

os.environ.setdefault("MASTER_PORT", "29500")
os.environ["MASTER_PORT"] = "0"
dist.is_available()
""",
]
