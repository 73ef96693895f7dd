"""One side speaks IPv4 and the other IPv6, or IPv6 is off where it is asked for.

## What happens

gloo fails with "ss1.ss_family == ss2.ss_family. 2 vs 10" (2 is IPv4, 10 is IPv6), NCCL with "Socket creation failed :
Address family not supported by protocol". c10d's warnings with errno 97 or gai error -9 are harmless if the connection
is made the other way; they count where nothing else was tried.

## Why

- The nodes' own names resolve to an IPv6 address on one machine and to an IPv4 address on another.
- IPv6 is disabled in the container or kernel (`ipv6.disable=1`), and MASTER_ADDR is an IPv6 address or name.
- `localhost` means ::1 on one side and 127.0.0.1 on the other.
- NCCL_SOCKET_FAMILY forces a family that the interface has no address of.
- A link-local address (fe80::…) is passed on without the interface that it belongs to.

## How to tell

On each node `getent ahosts "$(hostname)"` and `getent ahosts "$MASTER_ADDR"`: the first lines must be of one family
everywhere. `cat /proc/sys/net/ipv6/conf/all/disable_ipv6` prints 1 where IPv6 is off. `env | grep NCCL_SOCKET_FAMILY`.

## See also

- [pytorch#135355](https://github.com/pytorch/pytorch/issues/135355): one rank has IPv4, the other IPv6
- [NCCL_SOCKET_FAMILY](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-family): AF_INET for IPv4, AF_INET6 for IPv6
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import (
    Interfaces,
    Launch,
    Names,
    NcclConfiguration,
    means_nothing_elsewhere,
    nccl_choice,
    nccl_variables,
    outward_addresses,
    spans_nodes,
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"ss1\.ss_family == ss2\.ss_family\. (?P<own>\d+) vs (?P<other>\d+)",
        r"gloo/transport/\w+/\w+\.cc:\d+\] address family mismatch",
        r"(?:gloo/|enforce fail).{0,200}Unknown address family: ?(?P<own>\d+)",
        r"Socket creation failed ?: Address family not supported",
        r"\bNet : [Uu]nsupported (?:IP family|[Aa]ddress family)",
        r"\bis invalid for family (?P<family>AF_INET6?)",
        Symptom(
            r"connecting to address .{0,80}?with family \d+ is neither AF_INET",
            near=r"NCCL_SOCKET_FAMILY\b.{0,30}(?P<family>AF_INET6?)",
        ),
        # c10d: fatal only where no IPv4 address was tried
        Symptom(
            r"client socket cannot be initialized to connect to .{1,120}errno: 97 - Address family not supported",
            near=r"failed to connect to any network address of \(?\[?(?P<host>[\w.:-]+?)\]?[,:] ?\d+",
            unless=r"errno: (?:10[14]|11[0-3]) - ",
        ),
        # an IPv6 address: IPv6 was tried before and failed
        r"The IPv4 network addresses of \((?P<host>[0-9a-f]*:[0-9a-f:.]+), \d+\) cannot be retrieved \(gai error: -9 ",
        Symptom(
            r"\[Errno 97\] Address family not supported by protocol",
            near=r"torch[./\\](?:distributed|multiprocessing)|torchrun|init_process_group|deepspeed|accelerate",
        ),
        r"(?:[Cc]onnect|remote=).{0,20}\bfe80:[\w:%]{1,60}.{0,30}: Invalid argument",
    ],
    message="the nodes' addresses are of different families, IPv4 and IPv6, or one is switched off"
    "[ (family <own> meets <other>)][ (NCCL was told <family>)][: no connection to <host>]",
    fixes=[
        Fix(
            "See what the names resolve to, on every node",
            'getent ahosts "$(hostname)"; getent ahosts "$MASTER_ADDR"',
        ),
        Fix(
            "Name the machines by IPv4 addresses: the endpoint is the first node's, --local-addr each node's own; is_host=false on the others",
            "torchrun --nnodes=2 --nproc-per-node=N --local-addr=ADDRESS --rdzv-backend=c10d --rdzv-id=JOB "
            "--rdzv-conf=is_host=true --rdzv-endpoint=ADDRESS:29500 train.py",
        ),
        Fix(
            "Let NCCL use IPv4, and gloo the interface of each node that leads to the others; `ip -br addr` lists them",
            "export NCCL_SOCKET_FAMILY=AF_INET GLOO_SOCKET_IFNAME=INTERFACE",
        ),
        Fix(
            "Give each node's name one IPv4 address, on every node",
            'echo "ADDRESS NODE" | sudo tee -a /etc/hosts',
            Kind.ADMIN,
        ),
    ],
)


FAMILIES = {"AF_INET": "IPv4", "AF_INET6": "IPv6"}


@check.environment
def environment(
    interfaces: Interfaces,
    launch: Launch | None,
    names: Names | None,
    configuration: NcclConfiguration | None,
) -> Iterator[Finding]:
    """MASTER_ADDR, or what NCCL was told, is of a family that this machine has no address of."""
    if not interfaces.all:
        return
    master = names.master if names else None
    if master is not None and master.addresses:
        reason = _lacking(master.name, master.addresses, interfaces)
        if reason:
            address = ", ".join(master.addresses)
            shown = master.name if master.name == address else f"{master.name} ({address})"
            yield check.found(f"MASTER_ADDR {shown} {reason}", fixes=_environment_fixes(interfaces))
    variables = nccl_variables(launch, configuration)
    family = FAMILIES.get(variables.get("NCCL_SOCKET_FAMILY", ""))
    rest = {name: value for name, value in variables.items() if name != "NCCL_SOCKET_FAMILY"}
    chosen, otherwise = (
        nccl_choice(interfaces, variables).interfaces,
        nccl_choice(interfaces, rest).interfaces,
    )
    # Without an address of the family NCCL takes lo or a bridge of containers, if they have one.
    lost = not chosen or (means_nothing_elsewhere(chosen[0]) and spans_nodes(launch, names, interfaces))
    if family and lost and otherwise and not means_nothing_elsewhere(otherwise[0]):
        what = f"takes {chosen[0].name}, which other nodes cannot reach" if chosen else "finds no interface"
        message = (
            f"NCCL_SOCKET_FAMILY is {variables['NCCL_SOCKET_FAMILY']}, and {otherwise[0].name}, which NCCL would take, has no "
            f"{family} address: NCCL {what}"
        )
        yield check.found(message, fixes=[Fix("Let NCCL use what there is", "unset NCCL_SOCKET_FAMILY")])


def _lacking(name: str, addresses: list[str], interfaces: Interfaces) -> str:
    """Return why this machine cannot speak to addresses of their family; empty: it can."""
    spoken = {":" in address for address in outward_addresses(interfaces)}
    if not all(":" in a for a in addresses):
        alone = spoken == {True} and not any(":" in a or a.startswith("127.") for a in addresses)
        return "is IPv4, and this machine has IPv6 addresses alone" if alone else ""
    off = " (IPv6 is switched off)" if interfaces.ipv6 is False else ""
    if addresses == ["::1"]:
        missing = f"is IPv6, and this machine has no ::1{off}: rank 0 cannot be reached there"
        return "" if "::1" in interfaces.addresses else missing
    if all(a.startswith("fe80:") for a in addresses):
        bare = ":" in name and "%" not in name
        return (
            "is a link-local address without its interface (fe80::1%eth0): no connection can be made to it"
            if bare
            else ""
        )
    return "" if spoken != {False} else f"is IPv6, and this machine has no IPv6 address to speak from{off}"


def _environment_fixes(interfaces: Interfaces) -> list[Fix]:
    """Offer the family that is there; who may, switches IPv6 on."""
    return [
        Fix("On one machine", "export MASTER_ADDR=127.0.0.1"),
        Fix("On several: an IPv4 address of rank 0's machine, printed there", "hostname -I"),
        Fix(
            "Switch IPv6 on, where the network has it",
            "sudo sysctl net.ipv6.conf.all.disable_ipv6=0",
            Kind.ADMIN,
        ),
    ]
