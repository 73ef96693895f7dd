"""port-foreign-service: something else than rank 0's store answers."""

from gpudoctor.facts import Launch, Listener, Names, Resolution, Sockets
from gpudoctor.guard import examine
from gpudoctor.model import Severity, Source
from gpudoctor.registry import Registry
from gpudoctor.report import CheckStatus
from gpudoctor.snapshot import Snapshot

CHECK = Registry().check("port-foreign-service")
RETRY = "[W TCPStore.cpp:340] [c10d] TCP client failed to connect/validate to host 127.0.0.1:29531 - retrying (try=0, "
PING = "Ping failed, invalid value returned from server. Expected: 26380, Got: "
EXAMPLES = {
    'RuntimeError: nonce == returnedNonce INTERNAL ASSERT FAILED at "/pytorch/torch/csrc/distributed/c10d/TCPStore.cpp":405, please report a bug to PyTorch. Ping failed, invalid nonce returned': "what answers at the rendezvous port is no store of torch",
    f"{RETRY}timeout=8000ms, delay=584ms): {PING}1347703880": (
        "a web server answers at 127.0.0.1 port 29531, not rank 0's store"
    ),
    f"{RETRY}timeout=8000ms, delay=584ms): {PING}759714643": (
        "an ssh server answers at 127.0.0.1 port 29531, not rank 0's store"
    ),
    f"RuntimeError: {PING}1684234849": "what answers at the rendezvous port is no store of torch: it says 'abcd'",
    f"RuntimeError: {PING}-2": "what answers at the rendezvous port is no store of torch",
}
NOT_THIS = [
    f"{RETRY}timeout=8000ms, delay=584ms): The client socket has timed out after 8000ms while trying to connect to (127.0.0.1, 29531).",
    "worker 3: ping failed, host is down",
]
RANK_1 = Launch(variables={"RANK": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "8080"})
HERE = Names(
    own=Resolution(name="node-1", addresses=["192.0.2.7"]),
    master=Resolution(name="localhost", addresses=["127.0.0.1"]),
)


def run(**facts):
    return examine(CHECK, Source.ENVIRONMENT, Snapshot(facts))


def listening(command):
    return Sockets(listeners=[Listener(port=8080, pid=7, command=command)])


def test_a_web_server_on_the_port_of_this_rank_is_an_error():
    result, [finding] = run(launch=RANK_1, sockets=listening("nginx"), names=HERE)
    assert result.status is CheckStatus.FOUND
    assert finding.severity is Severity.ERROR
    assert finding.message.startswith("MASTER_PORT 8080 belongs to nginx (pid 7) here")


def test_passes():
    rank_0 = Launch(variables={**RANK_1.variables, "RANK": "0"})
    elsewhere = Names(own=HERE.own, master=Resolution(name="node-0", addresses=["192.0.2.9"]))
    for facts in (
        {"launch": RANK_1, "sockets": listening("python"), "names": HERE},
        {"launch": RANK_1, "sockets": Sockets(), "names": HERE},
        {"launch": rank_0, "sockets": listening("nginx"), "names": HERE},
        {"launch": RANK_1, "sockets": listening("nginx"), "names": elsewhere},
    ):
        assert run(**facts)[0].status is CheckStatus.PASSED, facts


def test_unknown_without_the_sockets():
    assert run(launch=RANK_1)[0].status is CheckStatus.UNKNOWN
