"""NCCL finds no network interface, or one that the other ranks cannot reach.

## What happens

"Bootstrap : no socket interface found", "connecting to address  with family 59936 is neither AF_INET nor AF_INET6", or
"Connect to 172.17.0.1<43211> failed : No route to host", when the first communicator is made.

## Why

NCCL opens TCP sockets to set itself up, even on one machine and with InfiniBand:

- NCCL_SOCKET_IFNAME names an interface of another machine (eth0 where this one has ens5, enp1s0 or bond0).
- NCCL took an interface that means nothing elsewhere: docker0, virbr0, veth…, a VPN's.
- The container has a network of its own, or only `lo`.
- A firewall between the nodes closes the ports, which are chosen at random.
- An address with family 0: the nodes have different versions of NCCL (`nccl-version-mismatch`).
- "Connection refused": the other process is gone already; its own error is then the cause.

## How to tell

`ip -br addr` lists what there is; `echo $NCCL_SOCKET_IFNAME; cat /etc/nccl.conf ~/.nccl.conf` what was asked for. With
`NCCL_DEBUG=INFO` the line "Bootstrap: Using …" names interface and address that were chosen: that address must answer from the others.

## See also

- [NCCL_SOCKET_IFNAME](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-socket-ifname): names, prefixes, and `^` to leave some out
- [NCCL: networking troubleshooting](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/networking_troubleshooting.html): interfaces that are up and lead nowhere; ports
- [nccl#1267](https://github.com/NVIDIA/nccl/issues/1267): family 0 between nodes with different versions of NCCL
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Symptom, count, listed
from gpudoctor.facts import (
    OWN_TO_EACH_MACHINE,
    Host,
    Interface,
    Interfaces,
    Launch,
    Names,
    NcclChoice,
    NcclConfiguration,
    NcclStart,
    Setting,
    means_nothing_elsewhere,
    nccl_asked,
    nccl_choice,
    number,
    outward_interfaces,
    settings,
    spans_nodes,
)

PEER = r"(?P<address>[^\s<>]{1,80})(?:<\d+>)?"
REASON = r"(?P<reason>[A-Z][a-z]+(?: \w+){0,6})"
UNSET = Fix(
    "Let NCCL choose; it leaves out docker*, virbr* and lo where there is something else",
    "unset NCCL_SOCKET_IFNAME",
    proof="unset NCCL_SOCKET_IFNAME",
)
OUTWARD = Fix(
    "Take the interface that leads to another node, whose address is ADDRESS (on one machine alone: lo)",
    "export NCCL_SOCKET_IFNAME=$(ip -o route get ADDRESS | sed 's/.* dev \\([^ ]*\\).*/\\1/')",
)
VIRTUAL = Fix("Or keep NCCL off the virtual ones", "export NCCL_SOCKET_IFNAME=^lo,docker,virbr,veth,br-")

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where NCCL would choose that interface by itself, a note on a machine alone",
    symptoms=[
        r"Bootstrap ?: ?no socket interface found",
        r"NET/Socket ?: ?(?:no interface found|No usable listening interface found)",
        r"NET/IB ?: ?No IP interface found",
        # an interface that is not there leaves an address of a random family; a forced one is address-family
        Symptom(
            r"connecting to address .{0,80}?with family \d+ is neither AF_INET", unless="NCCL_SOCKET_FAMILY"
        ),
        rf"No interface found in the same subnet as remote address {PEER}",
        r"Invalid NCCL_COMM_ID, please use format",
        r"(?P<reason>no device found (?:after excluding|matching) \S{1,80}), verify NCCL_\w+_IFNAME",
        # 2.4 to 2.10 bare, then after "Net : ", "socketStartConnect: " and, in small letters, the function's name
        rf"(?:NCCL WARN|Net ?:|ocketStartConnect:|ocketPollConnect:) ?[Cc]onnect to {PEER} failed ?: {REASON}",
        rf"socketPollConnect: Connect to {PEER} returned \d+\({REASON}\)",
        rf"[Ss]ocket\w{{0,16}}: connect (?:to {PEER} )?returned {REASON}, exceeded error retry count",
        rf"ncclOsSocketPollConnect to {PEER} failed with error {REASON}",
        r"socket(?:Start|Poll)Connect: exceeded (?:retries|timeouts)",
        rf"\bWARN Call to connect failed ?: {REASON}",  # until 2.2
        # it tries again; what refuses may only start later
        Symptom(
            r"NCCL INFO Call to connect returned (?P<reason>Connection timed out), retrying",
            unless=r"\bCOMPLETE\b|Connected all",
        ),
        # 2.2 to 2.7 say it on each try, and of the last one torch's error alone
        Symptom(
            rf"\b[Cc]all to connect returned {REASON}",
            near=r"unhandled system error|ncclSystemError|NCCL (?:runtime )?[Ee]rror",
        ),
    ],
    message="NCCL has no network interface that reaches the other ranks[ at <address>][: <reason>]",
    follows=["interface-down", "duplicate-hostname", "address-family"],
    words_stand=True,
    fixes=[
        Fix(
            "See which interfaces there are, and which one NCCL was told to take",
            "ip -br addr; env | grep NCCL; cat /etc/nccl.conf ~/.nccl.conf",
        ),
        OUTWARD,
        VIRTUAL,
        Fix("Give the container the host's network", "docker run --gpus all --network=host --ipc=host IMAGE"),
        Fix(
            "Open all ports between the nodes: NCCL takes any of net.ipv4.ip_local_port_range",
            "sudo ufw allow from SUBNET",
            Kind.ADMIN,
        ),
    ],
)


@check.environment
def environment(
    interfaces: Interfaces | None,
    launch: Launch | None,
    names: Names | None,
    configuration: NcclConfiguration | None,
    host: Host | None,
    start: NcclStart | None,
) -> Iterator[Finding]:
    """What NCCL was told fits no interface, or it takes one that leads nowhere."""
    if start is not None:
        yield from _took(start, launch)
    if interfaces is None:
        if start is None:
            raise CannotTell("interfaces: not known")
        return
    told = settings(launch or Launch(), configuration)
    variables = {name: one.value for name, one in told.items()}
    yield from _out_of_band(told, interfaces, host)
    setting = told.get("NCCL_SOCKET_IFNAME")
    choice = nccl_choice(interfaces, variables)
    spans = spans_nodes(launch, names, interfaces)
    if choice.asked is not None and not choice.interfaces:
        if not any(one.runs and one.addresses for one in nccl_asked(interfaces, variables)):
            yield from _fits_none(choice, interfaces, variables, setting)
        return  # with addresses of another family alone: address-family
    if setting is not None and choice.asked is not None and not choice.asked.startswith("^"):
        yield from _link_local(choice, setting, interfaces, spans)
    if (
        "NCCL_SOCKET_FAMILY" in variables
        and choice.interfaces
        and means_nothing_elsewhere(choice.interfaces[0])
    ):
        rest = {name: value for name, value in variables.items() if name != "NCCL_SOCKET_FAMILY"}
        better = nccl_choice(interfaces, rest).interfaces
        if better and not means_nothing_elsewhere(better[0]):
            return  # address-family
    if not spans or not choice.interfaces or not means_nothing_elsewhere(choice.interfaces[0]):
        return
    first = choice.interfaces[0]
    better = outward_interfaces(interfaces)
    down = [i for i in interfaces.all if not i.runs and i.addresses and not means_nothing_elsewhere(i)]
    if down and not better and not choice.asked:
        return  # interface-down: that is the one it would take
    which = f"{_asked(choice, setting)}, by which NCCL takes" if choice.asked else "NCCL will take"
    message = f"{which} {first.name} first, whose address means nothing on the other nodes of this launch"
    severity = None if choice.asked or not better else Severity.WARNING
    yield check.found(message, severity=severity, fixes=_environment_fixes(better, setting))


def _took(start: NcclStart, launch: Launch | None) -> Iterator[Finding]:
    """NCCL says itself that it took an interface whose address means nothing on another machine."""
    nodes = max(len(start.taken), (launch.nodes if launch else None) or 1, start.nodes or 1)
    wrong: dict[str, str] = {}
    for host, taken in start.taken.items():
        name, _, address = taken[0].partition(":")
        others = [one for one in taken if not one.startswith("lo:")]
        # By itself NCCL takes lo where there is nothing else: a machine without a network, which trains alone.
        loopback = name == "lo" and (nodes > 1 or bool(others))
        if loopback or (name.startswith(OWN_TO_EACH_MACHINE) and not name.startswith("veth")):
            wrong[host] = f"{name} ({address})"
    if not wrong:
        yield from _took_too(start, nodes)
        return
    names = " and ".join(sorted(set(wrong.values())))
    where = f" on {count(len(wrong), 'host')}" if len(start.taken) > 1 else ""
    message = f"NCCL took {names}{where}: no other machine reaches that address"
    if nodes == 1:
        message += "; on one machine alone it does no harm"
    asked = (
        "; NCCL_SOCKET_IFNAME=^docker0 alone lets it take lo"
        if any(n.startswith("lo ") for n in wrong.values())
        else ""
    )
    fixes = [OUTWARD, VIRTUAL]
    yield check.found(message + asked, severity=Severity.WARNING if nodes > 1 else Severity.NOTE, fixes=fixes)


def _took_too(start: NcclStart, nodes: int) -> Iterator[Finding]:
    """Find that NCCL spreads its data over a container engine's bridges besides the interface that leads elsewhere."""
    found = {
        one.partition(":")[0]
        for taken in start.taken.values()
        for one in taken[1:]
        if one.startswith(OWN_TO_EACH_MACHINE)
        and not one.startswith("docker")  # which it leaves out by itself
    }
    if not found:
        return
    names = listed(sorted(found), 4)
    message = f"NCCL sends over {names} too: no other machine reaches their addresses"
    if nodes == 1:
        message += "; on one machine alone it does no harm"
    severity = Severity.WARNING if nodes > 1 else Severity.NOTE
    yield check.found(message, severity=severity, fixes=[VIRTUAL, OUTWARD])


def _out_of_band(told: dict[str, Setting], interfaces: Interfaces, host: Host | None) -> Iterator[Finding]:
    """Find an interface for the set-up over NCCL's own network (NCCL_OOB_NET_ENABLE=1) that is none here.

    The name is that of a device of the network which NCCL takes: an interface for TCP, an adapter for InfiniBand.
    """
    setting = told.get("NCCL_OOB_NET_IFNAME")
    if setting is None or number(told.get("NCCL_OOB_NET_ENABLE", Setting("", "0")).value) != 1:
        return
    asked = setting.value.strip()
    if not asked or asked.startswith("^") or host is None:
        return
    exact = asked.startswith("=")
    wanted = [part.partition(":")[0] for part in asked.removeprefix("=").split(",")]
    there = [one.name for one in interfaces.all] + list(host.rdma)
    if any(name == one if exact else name.startswith(one) for name in there for one in wanted if one):
        return
    message = (
        f"{setting}: no interface and no RDMA device of this machine is called so (it has {', '.join(sorted(there))}), and the "
        'first communicator ends with "no device found matching"'
    )
    fixes = [Fix(setting.removal("Let NCCL choose"), setting.removal_command)]
    yield check.found(message, fixes=fixes)


def _link_local(
    choice: NcclChoice, setting: Setting, interfaces: Interfaces, spans: bool
) -> Iterator[Finding]:
    """Find an interface that was asked for, first of all, and was given no address."""
    first = choice.interfaces[0] if choice.interfaces else None
    if first is None or not first.addresses or not all(a.startswith("fe80:") for a in first.addresses):
        return
    message = (
        f"{_asked(choice, setting)}, and {first.name} was given no address: it has its link-local one alone "
        f"({first.addresses[0]}), which leads to no other network, and to other nodes only over the same wire"
    )
    better = [one for one in outward_interfaces(interfaces) if one.name != first.name]
    severity = Severity.WARNING if spans else Severity.NOTE
    yield check.found(message, severity=severity, fixes=_environment_fixes(better, setting))


def _asked(choice: NcclChoice, setting: Setting | None) -> str:
    where = setting.where if setting is not None else ""
    return f"NCCL_SOCKET_IFNAME is {choice.asked}{f' in {where}' if where else ''}"


def _fits_none(
    choice: NcclChoice, interfaces: Interfaces, variables: dict[str, str], setting: Setting | None
) -> Iterator[Finding]:
    """Say why nothing is left; what fits and is down is interface-down's."""
    asked = choice.asked or ""
    if nccl_asked(interfaces, variables) and not asked.startswith("^"):
        if any(one.runs for one in nccl_asked(interfaces, variables)):
            message = f"{_asked(choice, setting)}, and what it fits has no address"
            yield check.found(message, fixes=_environment_fixes(outward_interfaces(interfaces), setting))
        return
    has = ", ".join(i.name for i in interfaces.usable) or "lo alone"
    message = (
        f"{_asked(choice, setting)}, which fits no interface of this machine with an address (it has {has})"
    )
    if " " in asked:
        message += "; NCCL takes a space for a part of the name"
    message += ': NCCL ends with "no socket interface found"'
    yield check.found(message, fixes=_environment_fixes(outward_interfaces(interfaces), setting))


def _environment_fixes(better: list[Interface], setting: Setting | None) -> list[Fix]:
    """Name an interface of this machine; what all nodes share is a prefix, or what to leave out."""
    fixes = [
        UNSET
        if setting is None or not setting.where
        else Fix(f"{setting.removal()}: NCCL then chooses by itself", setting.removal_command)
    ]
    if better:
        name = better[0].name
        said = f"Or name the interface that leads to the other nodes; here {name} (`=` in front: this name alone)"
        fixes.append(Fix(said, f"export NCCL_SOCKET_IFNAME={name}"))
    return [
        *fixes,
        VIRTUAL,
    ]
