"""port-privileged: a port that only root may open."""

from gpudoctor.facts import Host, Launch
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("port-privileged")
MESSAGE = "a user may not open the port 80: those below 1024 are root's"
EXAMPLES = {
    "[W socket.cpp:436] [c10d] The server socket has failed to bind to [pc]:51545 (system error: 10013 - An attempt was made to access a socket in a way forbidden by its access permissions.).": (
        "Windows does not let this process open the port 51545: it keeps the port back, or another program has it for itself"
    ),
    "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. The server socket has failed to bind to [::]:80 (errno: 13 - Permission denied).": MESSAGE,
    (
        "torch.distributed.DistNetworkError: The server socket has failed to bind. port: 80, useIpv6: 0, code: -13, name: "
        "EACCES, message: permission denied"
    ): MESSAGE,
    "[W socket.cpp:436] [c10d] The server socket has failed to bind to [::]:80 (errno: 13 - Permission denied).": MESSAGE,
    (
        "Traceback (most recent call last):\n"
        '  File "train.py", line 3, in <module>\n'
        "    store = TCPStore(host, 80, 2, True)\n"
        "RuntimeError: Permission denied"
    ): "a user may not open the port: those below 1024 are root's",
}
NOT_THIS = [
    "PermissionError: [Errno 13] Permission denied: '/data/train'",
    "The server socket has failed to bind to [::]:29500 (errno: 98 - Address already in use).",
    "ssh: Permission denied (publickey).",
]


def run(**variables):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot({"launch": Launch(variables=variables)}))


def test_a_low_port_of_rank_0_is_a_warning():
    result, [finding] = run(MASTER_PORT="80", RANK="0")
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.WARNING
    assert finding.message.startswith("MASTER_PORT is 80")


def test_where_everybody_may_open_it_it_is_a_note():
    facts = {"launch": Launch(variables={"MASTER_PORT": "80"}), "host": Host(unprivileged_port=0)}
    _, [finding] = examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))
    assert finding.severity is Severity.NOTE


def test_passes():
    for variables in ({}, {"MASTER_PORT": "29500"}, {"MASTER_PORT": "0"}, {"MASTER_PORT": "80", "RANK": "1"}):
        assert run(**variables)[0].status is CheckStatus.PASSED, variables


def test_unknown_without_the_launch():
    assert examine(CHECK, Source.ENVIRONMENT, Snapshot({}))[0].status is CheckStatus.UNKNOWN
