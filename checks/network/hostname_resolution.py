"""A host name does not resolve to an address that other ranks can reach.

## What happens

Ranks wait and time out. c10d repeats "network addresses … cannot be retrieved (gai error: -2 - Name or service not
known)", gloo fails with "connectFullMesh failed" or "Unable to resolve hostname to a (local) address".

## Why

torchrun's c10d rendezvous, which `--standalone` uses too, passes the name of rank 0's machine on as MASTER_ADDR, and gloo
publishes the address of `gethostname()` to its peers.

| the machine's own name | what happens |
|---|---|
| nobody knows it | it cannot be used at all, not even on one machine |
| is 127.0.1.1, as Debian and Ubuntu write it into /etc/hosts | fine on one machine; ranks of other machines are sent to themselves |
| is an address that the machine no longer has | connections to it get no answer: see `rendezvous-unreachable` |

MASTER_ADDR itself may be misspelt, a name that only one node knows, or no name at all: `http://node-1`, `node-1:29500`.

## How to tell

`getent hosts "$(hostname)"` on each node, and `getent hosts "$MASTER_ADDR"` on all of them, must print an address that
the others can reach, and the same for MASTER_ADDR everywhere.

## See also

- [Rendezvous](https://docs.pytorch.org/docs/stable/elastic/rendezvous.html): `is_host` of the c10d backend
- [Choosing the interface](https://docs.pytorch.org/docs/stable/distributed.html#choosing-the-network-interface-to-use): GLOO_SOCKET_IFNAME, NCCL_SOCKET_IFNAME
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.facts import Interfaces, Launch, Names, Resolution, is_loopback, spans_nodes
from gpudoctor.wordings import A_FRAME

SEVERAL = (
    r"--nnodes[= ]\"?[2-9]|group_world_size=[2-9]|NNODES=[2-9]|min_nodes\s*: [2-9]|node_rank[= ]\"?[1-9]"
)
ANYBODY = r"localhost\d?(?:\.localdomain\d?)?"
"""Names that are no machine's own: duplicate-hostname."""
ENDPOINT = Fix(
    "Write name and port alone",
    "torchrun --nnodes=2 --nproc-per-node=N --rdzv-backend=c10d --rdzv-id=JOB --rdzv-endpoint=NODE:29500 train.py",
)
# With a name of this machine that nobody knows, --standalone alone waits in vain (tried with torch 2.13 and 2.15).
ALONE = "torchrun --standalone --local-addr=127.0.0.1 --nproc-per-node=N train.py"
# torchrun's c10d rendezvous asks for the machine's own name even where the endpoint is an address, unless is_host says who
# hosts it, and gloo publishes what that name leads to unless it is told an interface (both tried with torch 2.15, two hosts).
SEVERAL_SAYS = (
    "On several nodes: number them yourself (--node-rank=1 on the second), name the first by its address, and tell gloo each "
    "node's own interface"
)
SEVERAL_NODES = (
    "GLOO_SOCKET_IFNAME={interface} torchrun --nnodes=2 --node-rank=0 --master-addr=ADDRESS --master-port=29500 "
    "--nproc-per-node=N train.py"
)

OWN_ADDRESS = "Give the name its address, on every node, and take it out of the line with 127: that one is preferred wherever it stands"
# Seen with two real nodes: with both lines, in either order, gloo publishes 127.0.1.1 (RFC 6724 sorts it first).
IN_HOSTS = r"""sudo sed -i -E '/^127\./ s/\s{name}(\.\S+)?\b//g' /etc/hosts && echo "{address} {name}" | sudo tee -a /etc/hosts"""

check = Check(
    severity=Severity.ERROR,
    background=True,
    otherwise="a warning or a note on one machine",
    machine=True,
    symptoms=[
        # c10d; Linux, macOS and Windows number and word it differently. -5 and -9 mean no address of that family.
        r"\((?P<host>[^,() ]+), (?P<port>\w+)\) cannot be retrieved \(gai error: (-2|-3|8|11001) - (?P<reason>[^)]+)\)",
        r"host not found: (?P<reason>Name or service not known|Temporary failure in name resolution)",  # until 1.9
        r"Unable to resolve hostname to a \(local\) address",
        # a loopback address of this machine alone is a peer that is gone; with several nodes it is one that they published
        r"connectFullMesh failed with(?!.{0,240}(?:Connect timeout|Connection refused, remote=\[(?:127\.0\.0\.1|::1)\]))",
        r"connect \[127\.0\.1\.1\]:(?P<port>\d+): Connection refused",
        r"(SO_ERROR: Connection refused), remote=\[127\.0\.1\.1\]",
        Symptom(
            r"(?:connect \[127\.0\.0\.1\]:(?P<port>\d+): Connection refused|Connection refused, remote=\[127\.0\.0\.1\])",
            near=SEVERAL,
        ),
        r"error encountered when getting address info ?: (?P<reason>\w.{0,60})",  # NCCL
        r"Could not resolve hostname (?P<host>[^\s:]+): (Name or service not known|Temporary failure)",  # ssh, pdsh
        r"The local (IPv[46] )?network addresses cannot be retrieved \(gai error: ",
        r"rp != nullptr\. Unable to find address for: (?P<host>\S+)",
        r"(?:nslookup|ping|getent|curl)\b.{0,80}can't resolve '(?!\(null\))(?P<host>[^']+)'",
        # a download that finds no name is hub-unreachable
        Symptom(
            r"socket\.gaierror: \[Errno -?\d+\] (?P<reason>.{0,60})",
            near=r"torch[./\\]distributed|init_process_group|MASTER_ADDR|gethostby\w+\(|getfqdn|torchrun|deepspeed|mpi4py|horovod",
            unless=r"urllib|http[./\\]client|requests[./\\]|httpx|httpcore|huggingface_hub|botocore|aiohttp|torch[./\\]hub\.py",
        ),
        # MASTER_ADDR with a scheme, which is no name
        r"trying to connect to \((?P<host>\w+://[^,() ]+), (?P<port>\d+)\)",
        r"hostname of the rendezvous endpoint '(?P<endpoint>[^']{1,120})' must be a dot-separated",
        # the line alone
        Symptom(
            r"(?:socket\.gaierror|gaierror): \[Errno (?:-\d+|8|11001|11002|11004)\]|^\W{0,3}RuntimeError: (?:Name or service not known|nodename nor servname provided|Temporary failure in name resolution)",
            unless=rf"{A_FRAME}|https?|[Uu]rl|URL|[Hh]ugging|requests|[Dd]ownload",
        ),
    ],
    fixes=[
        Fix("On one machine: keep its name out of it", ALONE),
        Fix(SEVERAL_SAYS, SEVERAL_NODES.format(interface="INTERFACE")),
        Fix(
            "The same with the c10d rendezvous: is_host=false on all nodes but the first, and each node's own --local-addr",
            "torchrun --nnodes=2 --nproc-per-node=N --local-addr=ADDRESS --rdzv-backend=c10d --rdzv-id=JOB "
            "--rdzv-conf=is_host=true --rdzv-endpoint=ADDRESS:29500 train.py",
        ),
        Fix(
            "Where the name resolves to a wrong address, as to 127.0.1.1: let gloo and NCCL take the interface's; `ip -br addr` lists "
            "them",
            "export GLOO_SOCKET_IFNAME=INTERFACE NCCL_SOCKET_IFNAME=INTERFACE",
        ),
        Fix(OWN_ADDRESS, IN_HOSTS.format(address="ADDRESS", name="NODE"), Kind.ADMIN),
    ],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Name the host; what is no name at all has a cure of its own."""
    host, reason = sighting.groups.get("host", ""), sighting.groups.get("reason", "")
    if "endpoint" in sighting.groups:
        message = f"the rendezvous endpoint is {sighting.groups['endpoint']}, and must be a name or an address, a colon and a port"
        yield check.found(message, fixes=[ENDPOINT])
        return
    if "://" in host or re.fullmatch(r"[^:]+:\d+", host):
        name, _, port = host.partition("://")[2 if "://" in host else 0].partition("/")[0].partition(":")
        message = f"MASTER_ADDR is {host}, and must be a name or an address alone; the port is MASTER_PORT"
        command = f"export MASTER_ADDR={name or 'NODE'}" + (f" MASTER_PORT={port}" if port else "")
        yield check.found(message, fixes=[Fix("Give the name alone", command)])
        return
    message = "a host name does not lead to an address that the other ranks can reach"
    message += f": {host}" if host else ""
    yield check.found(f"{message} ({reason})" if reason else message)


@check.environment
def environment(names: Names, launch: Launch | None, interfaces: Interfaces | None) -> Iterator[Finding]:
    """MASTER_ADDR or the own name cannot serve as an address for the other ranks."""
    several = _several(names, launch, interfaces)
    if names.master is not None:
        yield from _of_master(names.master, launch, several)
    yield from _of_own(names.own, launch, interfaces, several)


def _several(names: Names, launch: Launch | None, interfaces: Interfaces | None) -> str:
    """Return in a sentence's middle what tells that there are several machines, empty where nothing does."""
    if not spans_nodes(launch, names, interfaces):
        return ""
    # rank 0 on another machine tells that there is one only if MASTER_ADDR is right
    told = launch is not None and launch.nodes is not None
    master = names.master
    return (
        "this launch spans nodes" if told or not master else f"MASTER_ADDR {master.name} is another machine"
    )


def _of_master(master: Resolution, launch: Launch | None, several: str) -> Iterator[Finding]:
    if master.error:
        what = f"does not resolve: {master.error}. No rank can reach rank 0's store"
    elif master.loopback and several and not _operators_master(launch):
        where = ", ".join(master.addresses)
        what = f"is {where} here, and {several}: every node looks for rank 0 on itself"
    else:
        return
    yield check.found(f"MASTER_ADDR {master.name} {what}", fixes=_master_fixes(bool(several)))


def _of_own(
    own: Resolution, launch: Launch | None, interfaces: Interfaces | None, several: str
) -> Iterator[Finding]:
    fixes = _fixes(own.name, interfaces, bool(several))
    severity = None if several else Severity.WARNING
    if own.error:
        alone = "so torchrun --standalone and c10d rendezvous time out even on one machine"
        rest = f"and {several}" if several else alone
        message = f"the own name {own.name} does not resolve ({own.error}), {rest}"
        yield check.found(message, severity=severity, fixes=fixes)
    elif own.is_here(interfaces) is False:
        yield check.found(_elsewhere(own, several), severity=severity, fixes=fixes)
    elif not own.loopback and (message := _loopback_first(own, launch, several)):
        yield check.found(message, fixes=fixes)
    elif own.loopback and not (several and re.fullmatch(ANYBODY, own.name)):
        interface = launch.variables.get("GLOO_SOCKET_IFNAME") if launch else None
        rest = "fine on one machine; with several, gloo would send the other ranks to themselves"
        if several:
            rest = f"and {several}: gloo publishes it, and the other ranks look for this one on themselves"
        message = f"the own name {own.name} resolves to {', '.join(own.addresses)} alone, {rest}"
        severity = Severity.NOTE if not several else Severity.WARNING if interface else None
        yield check.found(message, severity=severity, fixes=fixes)


def _loopback_first(own: Resolution, launch: Launch | None, several: str) -> str:
    """Say that the own name means this machine's loopback before its address; empty: it does not, or nobody minds.

    gloo publishes the first of the addresses to which it can bind (gloo/transport/tcp/device.cc); run with torch 2.15.
    """
    named = launch is not None and "GLOO_SOCKET_IFNAME" in launch.variables
    if not several or named or len(own.addresses) < 2 or not is_loopback(own.addresses[0]):
        return ""
    return (
        f"the own name {own.name} resolves to {', '.join(own.addresses)}, loopback first, and {several}: gloo publishes the "
        "first that it can bind, and the other ranks look for this one on themselves"
    )


def _operators_master(launch: Launch | None) -> bool:
    """Return whether this is the master pod of a PyTorchJob, which alone is told localhost (Kubeflow's envvar.go)."""
    if launch is None or "KUBERNETES_SERVICE_HOST" not in launch.variables:
        return False
    return launch.number("RANK") == 0 and "GROUP_RANK" not in launch.variables


def _elsewhere(own: Resolution, several: str) -> str:
    """Say what comes of a name that leads to another machine, or to none."""
    rest = "so torchrun --standalone and c10d rendezvous wait in vain, even on one machine"
    if several:
        rest = f"and {several}: the other ranks look for this one there"
    return f"the own name {own.name} is {', '.join(own.addresses)}, which no interface of this machine has, {rest}"


def _fixes(name: str, interfaces: Interfaces | None, spans: bool) -> list[Fix]:
    """Make the fixes concrete with the interface that other machines most likely reach."""
    usable = sorted(interfaces.usable, key=lambda i: i.virtual) if interfaces else []
    found = [(i.name, a) for i in usable for a in i.addresses if ":" not in a]
    interface, address = next(iter(found), ("INTERFACE", "ADDRESS"))
    command = SEVERAL_NODES.format(interface=interface) if spans else ALONE
    return [
        Fix(SEVERAL_SAYS if spans else "On one machine: keep its name out of it", command),
        Fix(
            "Where all ranks meet, and gloo alone fails: tell it and NCCL the interface",
            f"export GLOO_SOCKET_IFNAME={interface} NCCL_SOCKET_IFNAME={interface}",
        ),
        Fix(OWN_ADDRESS, IN_HOSTS.format(address=address, name=name), Kind.ADMIN),
    ]


def _master_fixes(spans: bool) -> list[Fix]:
    here = "export MASTER_ADDR=$(hostname -I | cut -d' ' -f1)"
    fixes = [Fix("Take an address of rank 0's machine, printed there, and give it to all nodes", here)]
    return fixes if spans else [Fix("On one machine", "export MASTER_ADDR=localhost"), *fixes]
