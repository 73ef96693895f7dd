"""duplicate-hostname: in logs and before the training."""

from typing import Any

from gpudoctor.facts import Launch, Names, Resolution
from gpudoctor.guard import examine
from gpudoctor.model import Finding, Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus, Result
from gpudoctor.snapshot import Snapshot

MESSAGE = (
    "several nodes have one name: localhost.localdomain; the connection went to port 42649 of a wrong one"
)
EXAMPLES = {
    (
        "[W socket.cpp:601] [c10d] The client socket has failed to connect to [localhost.localdomain]:42649 (errno: 111 - "
        "Connection refused)."
    ): MESSAGE,
    "RuntimeError: The client socket has timed out after 1800s while trying to connect to (localhost.localdomain, 42649).": MESSAGE,
    (
        "[E socket.cpp:610] [c10d] The client socket has failed to connect to any network address of "
        "(localhost.localdomain, 42649)."
    ): MESSAGE,
    (
        "[I api.py:525] [default] Rendezvous complete for workers. Result:\n  restart_count=0\n"
        "  master_addr=localhost.localdomain\n  master_port=42649\n  group_rank=1\n  group_world_size=2\n"
    ): "several nodes have one name: localhost.localdomain (the launch has 2)",
    "ValueError: Hostfile contains multiple entries for node1, unable to proceed with launching": (
        "several nodes have one name: node1"
    ),
    "[ERROR] [runner.py:190] Hostfile contains duplicate hosts, unable to proceed with training.": (
        "several nodes have one name"
    ),
}
NOT_THIS = [
    "[W socket.cpp:601] [c10d] The client socket has failed to connect to [node0]:42649 (errno: 111 - Connection refused).",
    "  restart_count=0\n  master_addr=localhost\n  master_port=29500\n  group_rank=0\n  group_world_size=1\n",
    "  restart_count=0\n  master_addr=node0\n  master_port=29500\n  group_rank=0\n  group_world_size=2\n",
    "ValueError: Hostfile contains a bad entry: node1 slots, unable to proceed with launching",
]

CHECK = Registry().check("duplicate-hostname")
TWO_NODES = Launch(variables={"WORLD_SIZE": "16", "LOCAL_WORLD_SIZE": "8"})


def run(**facts: Any) -> tuple[Result, list[Finding]]:
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def test_a_name_of_everybody() -> None:
    names = Names(own=Resolution(name="localhost.localdomain", addresses=["127.0.0.1"]))
    assert run(names=names, launch=Launch())[0].status is CheckStatus.PASSED
    result, [finding] = run(names=names, launch=TWO_NODES)
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.ERROR
    assert "this machine is called localhost.localdomain" in finding.message


def test_a_name_of_its_own_passes() -> None:
    names = Names(own=Resolution(name="node1", addresses=["10.0.0.4"]))
    assert run(names=names, launch=TWO_NODES)[0].status is CheckStatus.PASSED


def test_unknown() -> None:
    assert run()[0].reason == "names: not in this report"
