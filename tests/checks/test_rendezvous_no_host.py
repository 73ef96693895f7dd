"""rendezvous-no-host: in logs and before the training."""

from typing import Any

from gpudoctor.facts import Interface, Interfaces, Launch, Names, Resolution
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

ERROR = (
    "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the C10d store has failed. "
    "See inner exception for details."
)
TIMEOUT = "[E socket.cpp:860] [c10d] The client socket has timed out after 60s while trying to connect to (10.0.0.1, 1234)."
MESSAGE = "the node that should host the rendezvous tried to connect to it instead: none opened it"
EXAMPLES = {
    (
        "+ torchrun --nnodes=1 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=10.0.0.1:1234 train.py\n"
        f"{TIMEOUT}\n{ERROR}"
    ): (
        "the node that should host the rendezvous tried to connect to it instead, at 10.0.0.1 port 1234: none "
        "opened it"
    ),
    "  min_nodes                : 1\n  max_nodes                : 1\n  rdzv_backend             : c10d\n"
    + ERROR: MESSAGE,
    "torchrun --nnodes 2 --node_rank=0 --rdzv_backend c10d --rdzv_endpoint gate:29400 train.py\n"
    + ERROR: MESSAGE,
    (
        "[c10d] The client socket has timed out after 60000ms while trying to connect to (node0, 29400).\n"
        f"{ERROR}\nsrun: error: node0: task 0: Exited with exit code\n"
    ): (
        "the node that should host the rendezvous tried to connect to it instead, at node0 port 29400: none "
        "opened it"
    ),
    "0: " + ERROR: MESSAGE,
}
NOT_THIS = [
    ERROR,
    "1: " + ERROR,
    "torchrun --nnodes 2 --node_rank=1 --rdzv_backend c10d --rdzv_endpoint node0:29400 train.py\n" + ERROR,
    "torchrun --nnodes=16 --rdzv_backend c10d --rdzv_endpoint node0:29400 train.py\n" + ERROR,
    "torchrun --nnodes=1 --nproc_per_node=4 --rdzv_backend=c10d --rdzv_endpoint=10.0.0.1:1234 train.py\n"
    '  File "/opt/env/torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py", line 112, in _call_store\n'
    + ERROR,
]

CHECK = Registry().check("rendezvous-no-host")
LO = Interface(name="lo", up=True, running=True, index=1, addresses=["127.0.0.1", "::1"], loopback=True)
ETH0 = Interface(name="eth0", up=True, running=True, index=2, addresses=["10.0.0.4"], default_route=True)
IB0 = Interface(name="ib0", up=True, running=True, addresses=["10.5.0.4"])
C10D = {"PET_RDZV_BACKEND": "c10d", "PET_RDZV_ENDPOINT": "10.5.0.4:29500"}
OWN = Resolution(name="node1", addresses=["10.0.0.4"])


def run(**facts: Any) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def ask(endpoint: str, own: Resolution = OWN, **more: str) -> list[Finding]:
    names = Names(own=own, endpoint=Resolution(name=endpoint, addresses=[endpoint]))
    interfaces = Interfaces(all=[LO, ETH0, IB0])
    return run(names=names, launch=Launch(variables={**C10D, **more}), interfaces=interfaces)[1]


def test_an_address_that_the_own_name_does_not_lead_to() -> None:
    [finding] = ask("10.5.0.4")
    assert finding.severity is Severity.ERROR
    assert "the endpoint 10.5.0.4 is this machine, and its own name node1 is 10.0.0.4" in finding.message
    [finding] = ask("10.0.0.4", own=Resolution(name="node1", addresses=["127.0.1.1"]))
    assert "node1 is 127.0.1.1" in finding.message


def test_passes() -> None:
    assert ask("10.0.0.4") == []
    assert ask("10.5.0.9") == []
    assert ask("10.5.0.4", PET_RDZV_CONF="is_host=true") == []
    assert ask("10.5.0.4", PET_NODE_RANK="1") == []
    assert ask("10.5.0.4", PET_RDZV_BACKEND="static") == []
    assert run(names=Names(own=OWN), launch=Launch())[0].status is CheckStatus.PASSED


def test_unknown() -> None:
    assert run()[0].status is CheckStatus.UNKNOWN
