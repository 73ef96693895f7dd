"""A rank cannot connect to the rendezvous or to rank 0.

## What happens

"The client socket has timed out after 600000ms while trying to connect to (node-1, 29500)", "Connection refused", "No
route to host". The process gives up before any training begins. A few such warnings at the start are harmless if the
connection is made in the end: the client was there before the server.

## Why

- Rank 0 has not started, died at once, or runs on another machine than MASTER_ADDR says.
- Another port: MASTER_PORT or `--rdzv-endpoint` differs between the nodes.
- A firewall, or a container network, drops or refuses the port.
- MASTER_ADDR is an address that this node does not reach: a public one, 127.0.0.1, another network's.
- The machine's own name leads to an address that it no longer has. torchrun passes that name on, with a port that nobody
  chose: "(gpu-box, 40469)" on a launch with `--standalone` or `--rdzv-backend=c10d`.

## How to tell

By the error: "refused" (111) is a machine on which nothing listens there; "no route" (113) or "unreachable" (101) is
routing, or a firewall that says no; silence until the time-out is a firewall that drops, or a wrong address.

From the node that fails: `getent hosts HOST` and `nc -vz HOST PORT` while rank 0 waits. On rank 0's machine:
`ss -ltnp 'sport = :PORT'` shows whether it listens, and on which address. If that node itself fails to connect, it is
`rendezvous-no-host`.

## See also

- [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html): the rendezvous endpoint
- [Environment variable initialization](https://docs.pytorch.org/docs/stable/distributed.html#environment-variable-initialization): MASTER_ADDR and MASTER_PORT
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Connection, Measurements

# localhost.localdomain as the other side's name is duplicate-hostname.
# ::ffff:192.0.2.7 is an IPv4 address; of an IPv6 address the last number is no port.
PEER = (
    r"\(?\[?(?!localhost\d?\.localdomain)(?:::ffff:)?(?P<host>[\w.:-]+?)\]?[,:] ?"
    r"(?P<port>\d+|port\b)(?![\d\]:]|\.\d|, ?\d)\)?"
)
REASON = r"(?: \(errno: \d+ - (?P<reason>[^)]{1,60})\))?"
# The node that should be the host fails to connect: rendezvous-no-host.
LONE = r"--nnodes[= ]\"?1(?::\d+)?(?!\d)|min_nodes\s*: 1\b|--node[_-]rank[= ]\"?0\b"
SAME = r"trying to connect to \(([\w.-]+), \d+\)[\s\S]{0,6000}?srun: error: \1: task"
NO_HOST = rf"(?:{LONE})[\s\S]{{0,8000}}C10d store has failed|{SAME}"
NO_FAMILY = r"errno: 97 - Address family"
# The store was there and went away: its process ended.
LATER = r"in _call_store|in num_nodes_waiting"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        Symptom(
            rf"client socket has timed out after (?:(?P<ms>\d+)ms|(?P<seconds>\d+)s) while trying to connect to(?: {PEER}|(?! ))",
            unless=NO_HOST,
        ),
        Symptom(
            rf"client socket has failed to connect to any network address of {PEER}(?!.{{0,80}}gai error)",
            unless=rf"{NO_HOST}|{NO_FAMILY}",
        ),
        # 97 is address-family, 10049 Windows's harmless first try
        (
            rf"client socket has failed to connect to (?!any ){PEER}(?!.{{0,80}}(?:gai error|errno: 97|error: "
            rf"10049|errno: 100 )){REASON}"
        ),
        Symptom(
            r"\A(?!\s{0,3}0: ).{0,300}The connection to (?:the C10d store|etcd) has failed",
            unless=rf"{LONE}|{LATER}|{SAME}",
        ),
        r"\[c10d\] The client socket cannot be initialized to connect to (?!.{0,200}errno: 97)",
        # another service's answer is port-foreign-service
        rf"TCP client failed to connect/validate to host {PEER} - (?:retrying|timed out)(?!.{{0,120}}Ping failed)",
        rf"No socket on {PEER} is listening yet",
        rf"server socket on {PEER} is not yet listening",
        # until 1.10
        r"\bconnect\(\) timed out\.(?: Original timeout was (?P<ms>\d+) ms)?",
        r"\bconnect\b(?! \[).{0,60}: (?P<reason>No route to host|Network is unreachable)",
        r"TCPStore.{0,80}(?P<reason>Connection refused|Connection timed out|No route to host)",
        Symptom(
            (
                r"RuntimeError: (?P<reason>Connection refused|Connection timed out|No route to host|Network is "
                r"unreachable)$"
            ),
            near=r"distributed[/\\]rendezvous\.py|TCPStore\(|_rendezvous_handler",
        ),
        # launchers that start the other nodes by ssh
        r"ssh: connect to host (?P<host>[\w.:%-]+) port (?P<port>\d+): (?P<reason>\w[\w ]{4,40})",
        r"etcd\.EtcdConnectionFailed",
    ],
    message=(
        "this process could not connect[ to <host>][ port <port>][ within <ms> ms][ within <seconds> "
        "s][: <reason>]"
    ),
    follows=[
        "hostname-resolution",
        "port-in-use",
        "rendezvous-no-host",
        "duplicate-hostname",
        "address-family",
        "interface-down",
        "port-foreign-service",
        "port-privileged",
        "spawn-in-torchrun",
        "rank-out-of-range",
    ],
    fixes=[
        Fix("Try the connection from the node that fails, while rank 0 waits", "nc -vz <host> <port>"),
        Fix("See on rank 0's machine whether it listens, and where", "ss -ltnp 'sport = :<port>'"),
        Fix(
            "Name one node and one free port for all, by an address that every node reaches",
            "torchrun --nnodes=2 --nproc-per-node=N --rdzv-backend=c10d --rdzv-id=JOB --rdzv-endpoint=NODE:29500 train.py",
        ),
        Fix(
            "With --standalone, or a port that nobody chose: the machine's own name leads to a wrong address; keep it out of it",
            "torchrun --standalone --local-addr=127.0.0.1 --nproc-per-node=N train.py",
        ),
        Fix(
            "Where rank 0 needs minutes before it listens: let the others wait longer",
            'dist.init_process_group("nccl", timeout=datetime.timedelta(hours=1))',
            Kind.EDIT,
        ),
        Fix(
            "Ask the administrators to open the port between the nodes, and the ports above 32767 that gloo and NCCL choose",
            "sudo ufw allow from SUBNET",
            Kind.ADMIN,
        ),
    ],
    no_reproduction="not written yet",
)


@check.environment
def environment(measurements: Measurements) -> Iterator[Finding]:
    """A connection to MASTER_ADDR and MASTER_PORT was tried and got no answer."""
    if measurements.connection is not None:
        yield from _tried(measurements.connection)


def _tried(connection: Connection) -> Iterator[Finding]:
    """Judge an attempt to connect; where nothing listens yet, the machine refuses, and all is well so far."""
    place = f"{connection.host} port {connection.port}"
    if connection.outcome == "no answer":
        message = (
            f"{place} gave no answer within {connection.seconds:.0f} s: a firewall drops what is sent there, or MASTER_ADDR "
            "is a wrong address; a machine on which nothing listens would refuse at once"
        )
    elif connection.outcome == "unreachable":
        message = (
            f"{place} cannot be reached: {connection.reason}. Every rank here would wait for rank 0 in vain"
        )
    else:
        return
    yield check.found(message, fixes=_connection_fixes(connection))


def _connection_fixes(connection: Connection) -> list[Fix]:
    address = connection.addresses[0] if connection.addresses else connection.host
    return [
        Fix(
            "See which way the kernel would take, and which interfaces there are",
            f"ip route get {address}; ip -br addr",
        ),
        Fix(
            "Try the connection from here, while rank 0 waits", f"nc -vz {connection.host} {connection.port}"
        ),
        Fix("Take an address of rank 0's machine that this one reaches; printed there", "hostname -I"),
        Fix(
            "Ask the administrators to open the port between the nodes, and the ports above 32767 that gloo and NCCL choose",
            "sudo ufw allow from SUBNET",
            Kind.ADMIN,
        ),
    ]
