"""A rank cannot connect to the rendezvous or to rank 0.

## What happens

"The client socket has timed out after 600000ms while trying to connect to (node-1, 29500)", "Connection refused", "No
route to host". The process gives up before any training begins. A few such warnings at the start are harmless if the
connection is made in the end: the client was there before the server.

## Why

- Rank 0 has not started, died at once, or runs on another machine than MASTER_ADDR says.
- Another port: MASTER_PORT or `--rdzv-endpoint` differs between the nodes.
- A firewall, or a container network, drops or refuses the port. Packets between the ranks of one machine go by its
  loopback interface, whatever address they name: rules that stop those stop training on that machine alone.
- MASTER_ADDR is an address that this node does not reach: a public one, 127.0.0.1, another network's.
- The machine's own name leads to an address that it no longer has. torchrun passes that name on, with a port that nobody
  chose: "(gpu-box, 40469)" on a launch with `--standalone` or `--rdzv-backend=c10d`.

## How to tell

By the error: "refused" (111) is a machine on which nothing listens there; "no route" (113) or "unreachable" (101) is
routing, or a firewall that says no; silence until the time-out is a firewall that drops, or a wrong address.

From the node that fails: `getent hosts NODE` and `nc -vz NODE PORT` while rank 0 waits. On rank 0's machine:
`ss -ltnp 'sport = :PORT'` shows whether it listens, and on which address. If that node itself fails to connect, it is
`rendezvous-no-host`.

## See also

- [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html): the rendezvous endpoint
- [Environment variable initialization](https://docs.pytorch.org/docs/stable/distributed.html#environment-variable-initialization): MASTER_ADDR and MASTER_PORT
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import (
    Connection,
    Filter,
    Firewall,
    Host,
    Interfaces,
    Launch,
    Measurements,
    Names,
    OwnPort,
    Route,
    Script,
    means_nothing_elsewhere,
    outward_addresses,
    own_ports,
    spans_nodes,
)
from gpudoctor.wordings import A_FRAME

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

# net.ipv4.ip_local_port_range of Linux: first, middle and last.
CHOSEN = (32768, 45000, 60999)
ONE_PORT = Fix(
    "Where the script looks for a free port: do it once, before the ranks start, and hand it to all of them",
    "port = free_port()\nmp.spawn(main, args=(port,), nprocs=world_size)",
    Kind.EDIT,
    proof="args=(port,), nprocs=",
)
OPEN = [
    Fix(
        "Let the other nodes in on all ports, or ask the administrators to: gloo and NCCL choose theirs",
        "sudo ufw allow from SUBNET",
        Kind.ADMIN,
    ),
    Fix("See the rules", "sudo iptables -S", Kind.ADMIN),
]

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning in a container or where a name alone says it, a note where only root could tell",
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
        r"(?<!ssh: )\bconnect\b(?! \[).{0,60}: (?P<reason>No route to host|Network is unreachable)",
        r"TCPStore.{0,80}(?P<reason>Connection refused|Connection timed out|No route to host)",
        Symptom(
            (
                r"RuntimeError: (?P<reason>Connection refused|Connection timed out|No route to host|Network is "
                r"unreachable)$"
            ),
            near=r"distributed[/\\]rendezvous\.py|TCPStore\(|_rendezvous_handler",
        ),
        # the line alone: c10d raises this as a RuntimeError, Python's own sockets never do
        Symptom(
            r"RuntimeError: (?P<reason>Connection refused|Connection timed out|No route to host)$",
            unless=A_FRAME,
        ),
        r"etcd\.EtcdConnectionFailed",
        # Ray's head, where a node or a program looks for it
        r"(?:Failed|Unable) to connect to GCS at (?:address )?(?P<host>[\w.-]{0,100}):(?P<port>\d+)",
        r"Horovod was unable to connect to (?P<host>[\w.-]{1,100})",
        Symptom(
            r"^\W{0,3}ConnectionRefusedError: \[(?:Errno (?:111|61)|WinError 10061)\] ",
            unless=rf"{A_FRAME}|https?:|[Uu]rl|visdom|wandb",
        ),
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
        ONE_PORT,
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
)


LOOPBACK_IN = Fix(
    "Let the machine reach itself, or ask the administrators to",
    "sudo iptables -I INPUT -i lo -j ACCEPT",
    Kind.ADMIN,
    source="https://man7.org/linux/man-pages/man8/iptables.8.html",
)
LOOPBACK_OUT = Fix(
    "Let the machine reach itself, or ask the administrators to",
    "sudo iptables -I OUTPUT -o lo -j ACCEPT",
    Kind.ADMIN,
    source="https://man7.org/linux/man-pages/man8/iptables.8.html",
)


@check.code
def code(script: Script) -> Iterator[Finding]:
    """Each rank looks for a free port itself, or draws one: they listen and call at different ones."""
    for how, chosen, group in own_ports(script):
        if how is OwnPort.CLOCK:
            yield check.found(
                f"each rank takes the port from its own clock ({chosen.text}()): where they look in different moments, rank 0 "
                "listens at one port and the others call at another",
                severity=Severity.WARNING,
                location=chosen.place,
                fixes=[ONE_PORT],
            )
            return
        here = chosen.scope == group.scope or not chosen.stack
        yield check.found(
            f"each rank chooses a port of its own ({chosen.text}()): rank 0 listens at one, the others call at theirs, "
            "and nobody answers them",
            severity=Severity.WARNING if how is OwnPort.NAMED else Severity.ERROR,
            location=chosen.place if here else chosen.stack[-1],
            fixes=[ONE_PORT],
        )
        return


@check.environment
def environment(
    names: Names,
    launch: Launch | None,
    interfaces: Interfaces | None,
    host: Host | None,
    firewall: Firewall | None,
    measurements: Measurements | None,
) -> Iterator[Finding]:
    """The kernel knows no way to MASTER_ADDR, rank 0 runs here and MASTER_ADDR is elsewhere, or a firewall is between."""
    if measurements is not None and measurements.connection is not None:
        tried = list(_tried(measurements.connection))
        if tried:
            yield from tried
            return
    master = names.master
    if firewall is not None:
        several = spans_nodes(launch, names, interfaces)
        closed = list(_closed(firewall, launch, interfaces, names)) if several else []
        yield from closed or _closed_to_itself(firewall, launch, interfaces, names)
    if master is None or not master.addresses or _of_other_checks(master.addresses, interfaces):
        return
    lost = master.no_way
    shown = (
        master.name if master.name in master.addresses else f"{master.name} ({', '.join(master.addresses)})"
    )
    if lost is not None:
        message = f"there is no way from here to MASTER_ADDR {shown}: {_why(lost)}"
        yield check.found(message, fixes=_environment_fixes(master.addresses[0]))
    elif names.master_is_here(interfaces) is False and _rank_0_is_here(launch):
        if launch and "KUBERNETES_SERVICE_HOST" in launch.variables:
            return  # a service leads to this pod by another address
        message = (
            f"rank 0 opens its store here, and MASTER_ADDR {shown} is no address of this machine: "
            "the ranks look for it elsewhere and find nobody"
        )
        # a container's published port can be meant
        severity = Severity.WARNING if host is not None and host.container else None
        yield check.found(message, severity=severity, fixes=_environment_fixes(master.addresses[0]))


def _closed(
    firewall: Firewall, launch: Launch | None, interfaces: Interfaces | None, names: Names
) -> Iterator[Finding]:
    """Say that this machine's own firewall keeps other nodes out: of rank 0's port, or of those that are chosen."""
    ways = [i.name for i in interfaces.usable if not means_nothing_elsewhere(i)] if interfaces else []
    port = launch.master_port if launch else None
    family = names.master.family if names.master else 4
    here = names.master_is_here(interfaces) is not False
    stopped = firewall.stops(port, ways, family) if port and here else None
    if stopped is not None:
        message = f"this machine's firewall ({stopped.source}) lets no other node in to MASTER_PORT {port}"
        yield check.found(message, fixes=OPEN)
        return
    kept = firewall.stops_going_out(port, ways, family) if port and not here else None
    if kept is not None:
        message = (
            f"this machine's firewall ({kept.source}) lets nothing out to MASTER_PORT {port} of another node"
        )
        yield check.found(message, fixes=OPEN)
        return
    chosen = [firewall.stops(number, ways, family) for number in CHOSEN]
    closed = next((table for table in chosen if table is not None), None)
    if closed is not None and all(chosen):
        message = (
            f"this machine's firewall ({closed.source}) lets no other node in to ports {CHOSEN[0]} to {CHOSEN[-1]}, among which gloo "
            "and NCCL choose theirs"
        )
        yield check.found(message, fixes=OPEN)
    elif firewall.filters is None and (firewall.ufw or firewall.firewalld):
        service = "ufw" if firewall.ufw else "firewalld"
        message = f"{service} is active here, and only root can read whether it lets the other nodes in"
        yield check.found(message, severity=Severity.NOTE, fixes=OPEN)


def _closed_to_itself(
    firewall: Firewall, launch: Launch | None, interfaces: Interfaces | None, names: Names
) -> Iterator[Finding]:
    """Say that this machine's firewall stops what the ranks here send each other: it all goes by ``lo``."""
    port = launch.master_port if launch and names.master_is_here(interfaces) else None
    family = names.master.family if names.master else 4
    stopped = firewall.stops_own(port, family) if port else None
    chosen = [firewall.stops_own(number, family) for number in CHOSEN]
    if stopped is not None:
        where, which = f"MASTER_PORT {port}", ""
    elif all(chosen):
        stopped = chosen[0]
        where, which = f"ports {CHOSEN[0]} to {CHOSEN[-1]}", ", among which gloo and NCCL choose theirs"
    if stopped is None:
        return
    message = (
        f"this machine's firewall ({stopped.source}) stops what it sends to its own {where}{which}: whatever address the ranks "
        "here take, these packets go by lo"
    )
    yield check.found(message, fixes=_open_loopback(stopped))


def _open_loopback(table: Filter) -> list[Fix]:
    if table.source == "nft":
        fix = Fix(
            "Let the machine reach itself, or ask the administrators to",
            f"sudo nft insert rule {table.name} {table.start} {'o' if table.outgoing else 'i'}if lo accept",
            Kind.ADMIN,
            source="https://netfilter.org/projects/nftables/manpage.html",
        )
        return [fix, OPEN[1]]
    return [LOOPBACK_OUT if table.outgoing else LOOPBACK_IN, OPEN[1]]


def _of_other_checks(addresses: list[str], interfaces: Interfaces | None) -> bool:
    """Return whether another check knows why: loopback or an interface is down, or a family is missing."""
    if interfaces is None:
        return False
    own = [one for a in addresses if (one := interfaces.having(a)) is not None]
    if any(a.startswith("127.") or a == "::1" for a in addresses) or any(not one.runs for one in own):
        return True
    families = {":" in a for a in outward_addresses(interfaces)}
    return bool(families) and all((":" in a) not in families for a in addresses)


def _why(lost: Route) -> str:
    if lost.silent and not lost.error:
        return "this machine asked for it on its network, and nobody answered"
    return lost.error or ""


def _rank_0_is_here(launch: Launch | None) -> bool:
    """Return whether this is rank 0, or all ranks are on this machine."""
    if launch is None:
        return False
    everyone = launch.number("WORLD_SIZE")
    alone = everyone is not None and everyone == launch.number("LOCAL_WORLD_SIZE")
    return launch.number("RANK") == 0 or alone


def _environment_fixes(address: str) -> list[Fix]:
    return [
        Fix("On one machine", "export MASTER_ADDR=127.0.0.1"),
        Fix(
            "On several: an address of rank 0's machine, printed there; the same on all nodes", "hostname -I"
        ),
        Fix(
            "See which way the kernel would take, and which interfaces there are",
            f"ip route get {address}; ip -br addr",
        ),
    ]


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
