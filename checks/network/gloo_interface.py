"""gloo has no usable network interface, or one that other nodes cannot reach.

## What happens

`init_process_group("gloo")`, or any library that makes a gloo group beside NCCL, fails with "ifa != nullptr. Unable to
find address for: eth9", say. With the wrong interface, ranks of other nodes time out on an address such as 172.17.0.1.

## Why

- GLOO_SOCKET_IFNAME was copied from another machine: the interface is called eth0 there and ens5 or bond0 here.
- It holds what only NCCL understands: a prefix, `^docker0`, `=eth0`, or an address. gloo takes full names alone.
- The interface has no address, since it is down.
- Without the variable gloo takes the address of the machine's own name; that may be Docker's bridge (172.17.0.1),
  libvirt's (192.168.122.1) or a link-local one (169.254.x.x), which exist on every machine.

## How to tell

`echo $GLOO_SOCKET_IFNAME; ip -br addr` on each node: the name must be in the list, UP, with an address that the other
nodes can ping. `ip route get ADDRESS` names the interface that leads to another node.

## See also

- [Choosing the interface](https://docs.pytorch.org/docs/stable/distributed.html#choosing-the-network-interface-to-use): GLOO_SOCKET_IFNAME
- [YOLOX#139](https://github.com/Megvii-BaseDetection/YOLOX/issues/139): Unable to find address for: ib0
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import (
    Interfaces,
    Launch,
    Names,
    gloo_names,
    means_nothing_elsewhere,
    outward_interfaces,
    spans_nodes,
)

PAIR = r"gloo/transport/\w+/\w+\.(?:cc|h):\d+\] "
# Docker's and libvirt's bridges, and link-local addresses: each machine has its own.
OWN = r"(?P<address>172\.1[78]\.[\d.]+|192\.168\.122\.\d+|169\.254\.[\d.]+)"

check = Check(
    severity=Severity.ERROR,
    follows=["interface-down"],
    symptoms=[
        r"ifa != nullptr\. Unable to find address for: (?P<interface>[^\s,]{1,60})",
        r"Unable to find interface for: (?P<interface>[^\s,]{1,60})",
        rf"{PAIR}connect \[{OWN}\]:\d+: ",
        rf"SO_ERROR: .{{1,60}}, remote=\[{OWN}\]:\d+",
        (
            rf"{PAIR}connect \[(?P<address>[\w.:%]+)\]:\d+: (?P<reason>No route to host|Network is "
            rf"unreachable|Connection timed out)"
        ),
        rf"{PAIR}Connect timeout \[(?!none\])(?P<address>[\w.:%]+)\]",
        # where ranks meet at a port; with a file it is file-store-stale
        Symptom(
            r"connectFullMesh failed with .{0,200}Connect timeout \[none\]",
            near=r"tcp://|TCPStore|MASTER_ADDR|MASTER_PORT|torchrun|torch[./\\]distributed[./\\](?:run|elastic)|\[c10d\]",
            unless=r"file://|FileStore|_file_rendezvous_handler",
        ),
        # torch.distributed.rpc
        r"EADDRNOTAVAIL: address not available \(this error originated at tensorpipe",
        r"RuntimeError: Unable to find address for: (?P<interface>[^\s,]{1,60})",
    ],
    message=(
        "gloo has no way to the other ranks[: no interface <interface> with an address][: it tried "
        "<address>][, <reason>]"
    ),
    fixes=[
        Fix(
            "See the interfaces and what gloo was told",
            "env | grep -E 'GLOO|TP_SOCKET|NCCL_SOCKET'; ip -br addr",
        ),
        Fix(
            "Take the interface that leads to another node, whose address is ADDRESS",
            "export GLOO_SOCKET_IFNAME=$(ip -o route get ADDRESS | sed 's/.* dev \\([^ ]*\\).*/\\1/')",
        ),
        Fix(
            "On one machine the loopback will do", "export GLOO_SOCKET_IFNAME=lo", proof="GLOO_SOCKET_IFNAME"
        ),
        Fix(
            "For torch.distributed.rpc there is a variable of its own",
            "export TP_SOCKET_IFNAME=$GLOO_SOCKET_IFNAME",
        ),
        Fix(
            "Let the machine's own name mean its address on that network, and no longer 127.0.1.1",
            r"""sudo sed -i -E "/^127\./ s/\s$(hostname)(\.\S+)?\b//g" /etc/hosts && echo "ADDRESS $(hostname)" | sudo tee -a /etc/hosts""",
            Kind.ADMIN,
        ),
    ],
)


@check.environment
def environment(interfaces: Interfaces, launch: Launch | None, names: Names | None) -> Iterator[Finding]:
    """What gloo was told does not exist or leads nowhere; or, not told, its own name's address does."""
    variables = launch.variables if launch else {}
    spans = spans_nodes(launch, names, interfaces)
    told = gloo_names(variables)
    for name in told:
        wrong = _wrong(name, interfaces, spans)
        if wrong:
            message = f"GLOO_SOCKET_IFNAME is {variables['GLOO_SOCKET_IFNAME']}: {wrong}"
            yield check.found(message, fixes=_environment_fixes(interfaces, spans))
    if told or not spans or names is None or names.own.loopback:
        return  # a name that is loopback, or on no interface here, is hostname-resolution's
    here = [one for a in names.own.addresses if (one := interfaces.having(a)) is not None]
    local = [a for a in names.own.addresses if a.startswith("169.254.")]
    if here and (local or all(means_nothing_elsewhere(one) for one in here)):
        address = ", ".join(names.own.addresses)
        message = (
            f"the own name {names.own.name} is {address}, the address of {here[0].name}: gloo publishes it, and it means "
            "nothing on the other nodes"
        )
        yield check.found(message, fixes=_environment_fixes(interfaces, spans))


def _wrong(name: str, interfaces: Interfaces, spans: bool) -> str:
    """Return what is wrong with one name that gloo was told; empty: nothing, or interface-down knows it."""
    one = interfaces.named(name)
    if one is None:
        if name != name.strip():
            return f"there is a space in {name!r}, and gloo takes it for a part of the name"
        if name.startswith(("^", "=")):
            return f"{name[0]} is of NCCL's language, and gloo takes full names alone"
        has = ", ".join(i.name for i in outward_interfaces(interfaces)) or "none with an address"
        return f"this machine has no interface {name}; it has {has}"
    if not one.runs:
        return ""
    if not one.addresses:
        return f"{name} has no address, so gloo cannot listen there"
    if one.loopback and spans:
        return f"{name} is loopback, and the launch spans nodes: the others look for this one on themselves"
    if spans and means_nothing_elsewhere(one):
        return f"the address of {name} means nothing on the other nodes"
    return ""


def _environment_fixes(interfaces: Interfaces, spans: bool) -> list[Fix]:
    """Name an interface of this machine; each node has its own."""
    fixes = []
    offered = outward_interfaces(interfaces)
    if offered:
        said = f"Take the interface that leads to the other nodes, each node's own name for it; here {offered[0].name}"
        fixes.append(Fix(said, f"export GLOO_SOCKET_IFNAME={offered[0].name}"))
    if not spans:
        fixes.append(Fix("On one machine gloo needs no such variable", "unset GLOO_SOCKET_IFNAME"))
    return [*fixes, Fix("See the interfaces and their addresses", "ip -br addr")]
