"""A host name does not resolve to an address that other ranks can reach.

## What happens

Ranks wait and time out: c10d repeats "network addresses … cannot be retrieved (gai error: -2 - Name or service not
known)", gloo fails with "connectFullMesh failed" or "Unable to resolve hostname to a (local) address".

## Why

torchrun's c10d rendezvous passes the name of rank 0's machine on as MASTER_ADDR, and gloo publishes the address of
`gethostname()` to its peers. A name that nobody knows cannot be used at all, not even on one machine. A name that
resolves to 127.0.1.1, as Debian and Ubuntu write it into /etc/hosts, works on one machine and sends the ranks of other
machines to themselves.

## How to tell

`getent hosts "$(hostname)"` on each node, and `getent hosts "$MASTER_ADDR"` on all of them, must print an address that
the others can reach, and the same for MASTER_ADDR everywhere.

## See also

- [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html): `--rdzv-endpoint`, `--local-addr`
- [Common environment variables](https://docs.pytorch.org/docs/stable/distributed.html): GLOO_SOCKET_IFNAME
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Interfaces, Launch, Names

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        # c10d; Linux, macOS and Windows number and word it differently. -5 and -9 mean no address of that family.
        r"\((?P<host>[^,() ]+), (?P<port>\w+)\) cannot be retrieved \(gai error: (-2|-3|8|11001) - (?P<reason>[^)]+)\)",
        r"host not found: (?P<reason>Name or service not known|Temporary failure in name resolution)",  # until 1.9
        r"Unable to resolve hostname to a \(local\) address",
        r"connectFullMesh failed with",
        r"connect \[127\.0\.\d\.1\]:(?P<port>\d+): Connection refused",  # gloo: the peer published its loopback address
        r"(SO_ERROR: Connection refused), remote=\[127\.0\.\d\.1\]",
        r"error encountered when getting address info ?: (?P<reason>\w.{0,60})",  # NCCL
        r"Could not resolve hostname (?P<host>[^\s:]+): (Name or service not known|Temporary failure)",  # ssh, pdsh
        r"The local (IPv[46] )?network addresses cannot be retrieved \(gai error: ",
        r"rp != nullptr\. Unable to find address for: (?P<host>\S+)",
        r"(?:nslookup|ping|getent|curl)\b.{0,80}can't resolve '(?!\(null\))(?P<host>[^']+)'",
        r"socket\.gaierror: \[Errno -?\d+\] (?P<reason>.{0,60})",
    ],
    message="a host name does not lead to an address that the other ranks can reach[: <host>][ (<reason>)]",
    fixes=[
        Fix("Give the name its address, on every node", 'echo "10.0.0.4 node-1" | sudo tee -a /etc/hosts', Kind.ADMIN),
        Fix("Or name rank 0's machine by an address", "torchrun --rdzv-endpoint=10.0.0.4:29500 train.py"),
        Fix("Or tell gloo and NCCL the interface", "export GLOO_SOCKET_IFNAME=eth0 NCCL_SOCKET_IFNAME=eth0"),
    ],
)  # fmt: skip


@check.environment
def environment(names: Names, launch: Launch | None, interfaces: Interfaces | None) -> Iterator[Finding]:
    """MASTER_ADDR or the own name cannot serve as an address for the other ranks."""
    own, master = names.own, names.master
    spans = _spans(names, launch, interfaces)
    several = "this launch spans nodes" if spans else ""
    fixes = _fixes(own.name, interfaces, spans)
    if master is not None and master.error:
        message = (
            f"MASTER_ADDR {master.name} does not resolve: {master.error}. No rank can reach rank 0's store"
        )
        yield check.found(message, fixes=_master_fixes(spans))
    elif master is not None and master.loopback and spans:
        where = ", ".join(master.addresses)
        message = (
            f"MASTER_ADDR {master.name} is {where} here, and {several}: every node looks for rank 0 on itself"
        )
        yield check.found(message, fixes=_master_fixes(spans))
    if own.error:
        rest = (
            f"and {several}"
            if spans
            else "so torchrun --standalone and c10d rendezvous time out even on one machine"
        )
        message = f"the own name {own.name} does not resolve ({own.error}), {rest}"
        yield check.found(message, severity=None if spans else Severity.WARNING, fixes=fixes)
    elif own.loopback:
        interface = launch.variables.get("GLOO_SOCKET_IFNAME") if launch else None
        rest = "fine on one machine; with several, gloo would send the other ranks to themselves"
        if spans:
            rest = f"and {several}: gloo publishes that address, and the other ranks look for this one on themselves"
        message = f"the own name {own.name} resolves to {', '.join(own.addresses)} alone, {rest}"
        severity = Severity.NOTE if not spans else Severity.WARNING if interface else None
        yield check.found(message, severity=severity, fixes=fixes)


def _spans(names: Names, launch: Launch | None, interfaces: Interfaces | None) -> bool:
    """Return whether ranks of other machines must reach this one: the launch says so, or its rank 0 is elsewhere."""
    nodes = launch.nodes if launch else None
    return names.master_is_here(interfaces) is False if nodes is None else nodes > 1


def _fixes(name: str, interfaces: Interfaces | None, spans: bool) -> list[Fix]:
    """Make the fixes concrete with the interface that other machines most likely reach."""
    usable = sorted(interfaces.usable, key=lambda i: i.virtual) if interfaces else []
    found = [(i.name, a) for i in usable for a in i.addresses if ":" not in a]
    interface, address = next(iter(found), ("INTERFACE", "ADDRESS"))
    # Alone, with any free port: this works where --standalone waits in vain (tried with torch 2.13 and 2.15).
    rendezvous = "--rdzv-backend=c10d --rdzv-endpoint=127.0.0.1:0 --local-addr=127.0.0.1"
    if spans:
        rendezvous = f"--rdzv-backend=c10d --rdzv-endpoint=$NODE_0:29500 --local-addr={address}"
    line = f'echo "{address} {name}" | sudo tee -a /etc/hosts'
    return [
        Fix("Give the name its address, on every node, before any line with 127", line, Kind.ADMIN),
        Fix(
            "Or tell torchrun this machine's address", f"torchrun {rendezvous} --nproc-per-node=gpu train.py"
        ),
        Fix(
            "Or tell gloo and NCCL the interface",
            f"export GLOO_SOCKET_IFNAME={interface} NCCL_SOCKET_IFNAME={interface}",
        ),
    ]


def _master_fixes(spans: bool) -> list[Fix]:
    here = "export MASTER_ADDR=$(hostname -I | cut -d' ' -f1)"
    fixes = [Fix("Take an address of rank 0's machine, printed there, and give it to all nodes", here)]
    return fixes if spans else [Fix("On one machine", "export MASTER_ADDR=localhost"), *fixes]
