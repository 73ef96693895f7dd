"""A network interface is down, or the address that was asked for is on none.

## What happens

The kernel logs "NIC Link is Down" or "link status definitely down for interface eth1", and the job's connections fail
with "Network is down", or hang until the time-out. A server that is told to open an address that no interface has
fails with "Cannot assign requested address".

## Why

- A cable, a transceiver or the switch's port failed, or the link flaps for a moment: enough to end a job over RoCE.
- The interface was never configured after a restart, or lost its address to DHCP.
- NCCL_SOCKET_IFNAME or GLOO_SOCKET_IFNAME names an interface that exists and is down.
- MASTER_ADDR is the address of another machine than the one that runs rank 0.

docker0 and other bridges with nothing attached are DOWN all the time, and that is harmless.

## How to tell

`ip -br link; ip -br addr` on each node: the interface must be UP and have its address. Compare the time of the kernel's
line in `sudo dmesg -T | grep -i link` with that of the job's first error. `ethtool INTERFACE` says "Link detected".

## See also

- [NCCL: networking troubleshooting](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/networking_troubleshooting.html): what NCCL does with interfaces that cannot talk
"""

import re
from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import (
    Interface,
    Interfaces,
    Launch,
    Links,
    Names,
    NcclConfiguration,
    Setting,
    gloo_names,
    means_nothing_elsewhere,
    nccl_asked,
    nccl_choice,
    settings,
    spans_nodes,
)

# Bridges and virtual ends go down with each container.
NAME = r"(?P<interface>(?!docker|veth|virbr|br-|lo:|cali|flannel|cni|tap)[a-z][\w.-]{1,14})"

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning or a note where the launch may do without it",
    symptoms=[
        rf"\b{NAME}: (?:NIC )?Link is Down\b",
        rf"\b(?:mlx\d|bnxt|ice|i40e|ena|hns3|qede|cxgb\d)\w* \S{{1,20}} {NAME}: (?:NIC )?[Ll]ink (?:is )?[Dd]own\b",
        rf"link status definitely down for interface {NAME}",
        r"(?:NCCL|c10d|gloo|torch|[Ss]ocket|[Cc]onnect).{0,200}\bNetwork is down\b",
        r"\[Errno 100\] Network is down",
        r"failed to bind to \[?(?P<address>[\w.:%]+?)\]?:\d+ \(errno: 99 - Cannot assign requested address",
        r"(?:gloo|NCCL).{0,120}\bbind\b.{0,80}: Cannot assign requested address",
    ],
    message=(
        "a network interface[, <interface>,] is down[, or none has the address <address>]: "
        "connections over it fail"
    ),
    fixes=[
        Fix("See which interfaces are up, with what addresses", "ip -br link; ip -br addr"),
        Fix(
            "Use one that is up: its full name, as `ip -br addr` prints it on that node",
            "export NCCL_SOCKET_IFNAME=INTERFACE GLOO_SOCKET_IFNAME=INTERFACE",
        ),
        Fix(
            "Leave the node out; the administrators want its name, the interface's and the time",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "See when the link went down",
            "sudo dmesg -T | grep -iE 'link (is )?(down|up)|link becomes'",
            Kind.ADMIN,
        ),
        Fix(
            "Bring it up; if it does not stay up, look at cable, transceiver and switch",
            "sudo ip link set INTERFACE up",
            Kind.ADMIN,
            proof="ip link set",
        ),
    ],
)


UP = "Bring it up; if it does not stay up, look at cable, transceiver and switch"
LOOPBACK = [
    Fix("Switch loopback on", "sudo ip link set lo up", Kind.ADMIN),
    Fix(
        "A container of your own: let its runtime make the network",
        "docker run --gpus all --network=host --ipc=host IMAGE",
    ),
]


@check.environment
def environment(
    interfaces: Interfaces | None,
    links: Links | None,
    launch: Launch | None,
    names: Names | None,
    configuration: NcclConfiguration | None,
) -> Iterator[Finding]:
    """Loopback is down, or an interface that the ranks were told to use, or whose address they pass on."""
    if interfaces is None:
        if links is None:
            raise CannotTell("the network interfaces are not known")
        yield from _of_links(links, settings(launch or Launch(), configuration))
        return
    lo = interfaces.loopback
    if lo is not None and not (lo.up and "127.0.0.1" in lo.addresses):
        state = "has no address" if lo.up else "is down"
        message = f"lo {state}: 127.0.0.1 does not answer, so the ranks of this machine cannot meet there"
        yield check.found(message, fixes=LOOPBACK)
    told = list(_told(interfaces, settings(launch or Launch(), configuration)))
    for setting, one in told:
        message = f"{setting} names {one.name}, and {one.name} {_state(one)}: the ranks cannot use it"
        yield check.found(message, fixes=_fixes(one, interfaces, "" if setting.where else setting.name))
    seen = {one.name for _, one in told}
    spans = spans_nodes(launch, names, interfaces)
    for role, one in _passed_on(interfaces, names):
        if one.name not in seen:
            seen.add(one.name)
            rest = "connections to it fail" if not one.up or spans else "other machines cannot reach it"
            severity = None if spans else Severity.WARNING if not one.up else Severity.NOTE
            message = f"{role} is the address of {one.name}, which {_state(one)}: {rest}"
            yield check.found(message, severity=severity, fixes=_fixes(one, interfaces))
    yield from _others(interfaces, seen, spans)


def _of_links(links: Links, known: dict[str, Setting]) -> Iterator[Finding]:
    """Find what variables name and is down, where no address is known."""
    shown = Interfaces(all=links.all)
    variables = {name: setting.value for name, setting in known.items()}
    asked = [("GLOO_SOCKET_IFNAME", links.named(name)) for name in gloo_names(variables)]
    fitting = nccl_asked(shown, variables)
    if (
        fitting
        and not variables["NCCL_SOCKET_IFNAME"].startswith("^")
        and not any(one.runs for one in fitting)
    ):
        asked.append(("NCCL_SOCKET_IFNAME", fitting[0]))
    for name, one in asked:
        if one is not None and not one.runs:
            message = f"{known[name]} names {one.name}, and {one.name} {_state(one)}: the ranks cannot use it"
            yield check.found(message, fixes=_fixes(one, shown, "" if known[name].where else name))


def _others(interfaces: Interfaces, seen: set[str], spans: bool) -> Iterator[Finding]:
    """Interfaces that were set up, with an address or as a part of a bond, and carry nothing."""
    for one in interfaces.all:
        if one.runs or one.name in seen or one.loopback:
            continue
        bond = interfaces.named(one.master) if one.master else None
        if bond is not None and bond.kind == "bond" and bond.runs:
            message = (
                f"{one.name}, a part of {bond.name}, {_state(one)}: {bond.name} carries less than it could"
            )
            yield check.found(message, severity=Severity.WARNING, fixes=_fixes(one, interfaces))
        elif _set_up(one):
            message = f"{one.name} has an address and {_state(one)}: nothing passes over it"
            needed = spans and (one.kind == "infiniband" or len(_siblings(one, interfaces)) > 1)
            severity = Severity.WARNING if needed else Severity.NOTE
            yield check.found(message, severity=severity, fixes=_fixes(one, interfaces))


def _siblings(one: Interface, interfaces: Interfaces) -> list[Interface]:
    """Return the interfaces that carry traffic and are called like this one but for the numbers."""
    stem = re.sub(r"\d+", "", one.name)
    return [i for i in interfaces.usable if re.sub(r"\d+", "", i.name) == stem]


def _set_up(one: Interface) -> bool:
    """Return whether it has an address that somebody gave it, and is none of containers', tunnels or radio."""
    given = [a for a in one.addresses if not a.startswith(("fe80:", "169.254."))]
    passing = one.kind in ("bridge", "wireless", "tun", "wireguard", "virtual") or means_nothing_elsewhere(
        one
    )
    return bool(given) and not passing


def _told(interfaces: Interfaces, known: dict[str, Setting]) -> Iterator[tuple[Setting, Interface]]:
    """Yield what variables name and is down; of NCCL's prefixes only where none that fits is up."""
    variables = {name: setting.value for name, setting in known.items()}
    for name in gloo_names(variables):
        one = interfaces.named(name)
        if one is not None and not one.runs and not known["GLOO_SOCKET_IFNAME"].where:
            yield known["GLOO_SOCKET_IFNAME"], one
    if not nccl_choice(interfaces, variables).interfaces:
        fitting = nccl_asked(interfaces, variables)
        if (
            fitting
            and not any(one.runs for one in fitting)
            and not variables["NCCL_SOCKET_IFNAME"].startswith("^")
        ):
            yield known["NCCL_SOCKET_IFNAME"], fitting[0]


def _passed_on(interfaces: Interfaces, names: Names | None) -> Iterator[tuple[str, Interface]]:
    """Yield the interfaces that are down of the addresses by which ranks find this machine."""
    resolutions = [("MASTER_ADDR", names.master), ("the own name", names.own)] if names else []
    for role, resolution in resolutions:
        for address in resolution.addresses if resolution else []:
            one = interfaces.having(address)
            # an address of docker's bridge is wrong whether it is up or not
            if one is not None and not one.runs and not means_nothing_elsewhere(one):
                yield f"{role} {resolution.name if resolution else ''}", one


def _state(one: Interface) -> str:
    return "has no carrier" if one.up else "is down"


def _fixes(one: Interface, interfaces: Interfaces, variable: str = "") -> list[Fix]:
    """Offer what is up; who may, brings this one up."""
    best = interfaces.best
    fixes = []
    if best is not None and best.runs:
        said = f"Use one that is up, on each node by its own name: here {best.name}"
        names = [variable] if variable else ["NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"]
        fixes.append(Fix(said, "export " + " ".join(f"{name}={best.name}" for name in names)))
    look = Fix("See which interfaces are up, with what addresses", "ip -br link; ip -br addr")
    return [*fixes, look, Fix(UP, f"sudo ip link set {one.name} up", Kind.ADMIN)]
