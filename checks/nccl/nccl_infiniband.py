"""An InfiniBand or RoCE adapter refuses, or does not get through.

## What happens

"NET/IB : Got completion from peer 10.0.0.2<38560> with status=12 … vendor err 129", "Call to ibv_reg_mr failed with
error Cannot allocate memory", "Call to ibv_modify_qp failed with 101 Network is unreachable". The rank ends.

## Why

- Status 12 (no answer) at the start: the adapters cannot reach each other. Over RoCE mostly a wrong GID index, another
  VLAN or subnet, or rails that are not connected.
- Status 12 after hours, or "port error": a link flaps, the peer died, or the network is congested.
- `ibv_reg_mr` or `ibv_create_*`, "Cannot allocate memory": the limit of locked memory (`ulimit -l`) is too low.
- `ibv_reg_mr`, "Bad address": GPU memory was handed over and nvidia-peermem is not loaded.
- "wrong type 4 != 3": one node goes over InfiniBand and the other over TCP, since the adapters work on one of them only, or
  NCCL_IB_DISABLE is set on one of them only.
- Status 4, 10 or 12 with GPUDirect: PCIe access control (ACS) diverts the transfers.

## How to tell

Inside the job: `ulimit -l` (should be unlimited), `ibstat` (State: Active), `show_gids` (RoCE v2 with the IPv4
address). `ib_write_bw -d mlx5_0 NODE` between the two nodes tests the path without NCCL.

## See also

- [NCCL: networking troubleshooting](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/networking_troubleshooting.html): `ibstat` and tests of the fabric without NCCL
- [nccl#426](https://github.com/NVIDIA/nccl/issues/426): completions with error 12
- [nccl-tests#188](https://github.com/NVIDIA/nccl-tests/issues/188): "wrong type 4 != 3", and what NVIDIA says to look at
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting
from gpudoctor.facts import (
    Gpus,
    Host,
    IbDevice,
    IbPort,
    Infiniband,
    Interfaces,
    Launch,
    Names,
    NcclConfiguration,
    Pci,
    adapters_asked,
    gpus_served,
    nccl_variables,
    spans_nodes,
)

# enum ibv_wc_status of rdma-core's verbs.h. 5, "flushed", follows from another failure: nccl-remote-exit.
STATUS = {
    1: "the message did not fit into the receiver's buffer",
    4: "this adapter may not access the memory that it was given",
    9: "the other side refused the request as invalid",
    10: "the other side refused access to its memory",
    11: "the other side could not carry out the operation",
    12: "the other side did not answer, and the retries are used up",
    13: "the other side had no buffer ready, and the retries are used up",
}
COMPLETION = r"Got completion (?:from peer (?P<peer>[^\s<>]{1,80})\S* )?with (?:error |status=)(?:IBV_\w+\()?(?!5\b)(?P<status>\d+)\b"
# Left out: what is tried without being needed, and what fails when a communicator is torn down.
CALL = r"Call to (?P<call>ibv_(?!query_ece|set_ece|get_async_event|destroy_|close_|dealloc_|dereg_)\w+|mlx5dv_reg_dmabuf_mr)"

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning or a note where NCCL goes over TCP instead",
    words_stand=True,
    symptoms=[
        r"infiniband (?P<device>mlx\d_\d+): create_mkey_warn",  # the kernel: memory could not be registered
        rf"NET/IB\w*(?:/GIN)? ?: ?{COMPLETION}",
        rf"{CALL}(?:\(\))? failed(?!.{{0,300}}, retrying )(?: with (?:error |\d+ )?(?P<reason>[^,]{{1,80}}))?",
        (
            r"NET/IB ?: ?(?:(?P<hca>\S{1,40}) )?(?:Got async (?:error )?event ?: ?|async fatal event(?: on \w+ \(\w+\))?.{0,120}: )"
            r"(?!.{0,20}(?:port (?!error)|PORT|client|GID|LID|SM|P_Key|[Ll]ast WQE))(?P<reason>\w[\w -]{2,60})"
        ),
        r"(?P<reason>Remote \w+ device is incompatible with the local|Attempted to (?:connect|merge) incompatible devices)",
        r"NET/IB ?: ?(?P<reason>Unable to (?:open|query) (?:device|port_num) \S{1,40})",
        r"NET/IB ?: ?(?P<reason>Unable to query port|Got CQE with error)\b",
        r"\b(?P<call>ibv_post_(?:send|recv))\(\) failed with error (?P<reason>[^,]{1,80})",
        r"NET/IB ?: ?(?P<reason>Local mergedDev.{1,80} has a different number of devices)",
        r"NET/IB ?: ?(?P<reason>Can't merge net devices with different link_layer)",
        # 2.28 and later, where one of several adapters may fail
        r"NET/IB ?: ?\S{1,80} Got completion with error \(.{0,60}wc->status=\((?P<reason>[^)]{2,80})\)(?!5,)\d",
        r"NET/IB ?: ?Fatal error\. (?P<reason>Detected \d+ failed devices out of \d+)",
        r"(?P<reason>Detected mixed local Net device counts across ranks)(?!.{0,80}Ignoring)",  # 2.30
        r"UCX +ERROR.{0,60} (?P<call>ibv_\w+)\(.{0,300}\) failed: (?P<reason>\w[\w ]{2,60})",
        r"Transport retry count exceeded on (?P<hca>[\w:/]+)",  # UCX
        # perftest, UCCL, GPI-2 and MSCCL++
        r"(?P<reason>[Ff]ailed to modify (?:\w+ )?QP(?: \d+)?(?: to (?:INIT|RT[RS]))?(?:: \w[\w ]{2,60})?)",
        r"\b(?P<call>ibv_(?:modify|create)_qp|ibv_reg_mr) failed \(errno \d+\)",
        # 3 is a socket for TCP, 4 one for InfiniBand (enum ncclSocketType in NCCL's socket.h)
        r"socketFinalizeAccept: wrong type (?P<sockets>4 != 3|3 != 4)\b",
        r"(?P<reason>OpenFabrics \(openib\) BTL failed to initialize while trying to allocate some locked memory)",
    ],
    follows=["interface-down", "nccl-version-mismatch"],
    fixes=[
        Fix(
            "See adapters, links, addresses and the limit of locked memory inside the job",
            "ulimit -l; ibstat; show_gids; ibv_devinfo",
        ),
        Fix(
            "Let containers lock memory and use the adapters",
            "docker run --gpus all --network=host --ipc=host --ulimit memlock=-1 --cap-add=IPC_LOCK "
            "--device=/dev/infiniband IMAGE",
        ),
        Fix(
            "Let NCCL find the GID index itself (2.21 or later), and name the adapters that lead to the other nodes",
            "unset NCCL_IB_GID_INDEX; export NCCL_IB_HCA=ADAPTER",
        ),
        Fix(
            "For status 12 on a large or busy network: wait longer for an answer; each 1 more doubles the time (20 unless it is set)",
            "export NCCL_IB_TIMEOUT=22",
        ),
        Fix(
            "Leave out the node that is named each time; the administrators want its name and the whole line",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "For locked memory: in /etc/security/limits.conf `* - memlock unlimited`, for Slurm's daemon `LimitMEMLOCK=infinity`; "
            "and see that Slurm does not pass on the login node's limit",
            "srun --propagate=NONE bash -c 'ulimit -l'",
            Kind.ADMIN,
        ),
        Fix("Load the module for GPUDirect", "sudo modprobe nvidia_peermem", Kind.ADMIN),
        Fix(
            "Go over TCP instead, to train meanwhile; much slower",
            "export NCCL_IB_DISABLE=1",
            Kind.MITIGATION,
        ),
    ],
    no_reproduction="needs an InfiniBand adapter",
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say what the number of a completion means, or which call failed with what."""
    groups = sighting.groups
    reason = groups.get("reason", "").strip(" .,")
    if "status" in groups:
        number = int(groups["status"])
        to = f" from {groups['peer']}" if "peer" in groups else ""
        said = f"a transfer{to} ended with status {number}"
        message = f"{said}: {STATUS[number]}" if number in STATUS else said
    elif "call" in groups:
        message = f"{groups['call']} failed{': ' if reason else ''}{reason}"
    elif "hca" in groups:
        message = f"{groups['hca']} reports {reason or 'that the other side did not answer'}"
    elif "sockets" in groups:
        message = "one rank goes over InfiniBand and another one over TCP: the adapters do not work, or are turned off, on one node"
    elif "device" in groups:
        message = f"the kernel could not register memory with {groups['device']}"
    else:
        message = f"the InfiniBand adapters cannot be used: {reason}"
    yield check.found(message)


MOST_GIDS = 32
"""As many of a port's table are known."""
GIVE = Fix(
    "Hand the adapters to the container, with the right to lock memory",
    "docker run --gpus all --network=host --ipc=host --ulimit memlock=-1 --cap-add=IPC_LOCK --device=/dev/infiniband IMAGE",
)
VERBS = Fix("Load the kernel's part", "sudo modprobe ib_uverbs", Kind.ADMIN)
LIBRARY = Fix(
    "Install rdma-core's libibverbs (Debian: libibverbs1 and ibverbs-providers) in this image",
    kind=Kind.ADMIN,
)
CHOOSE = Fix("Let NCCL find the GID index itself (2.21 or later)", "unset NCCL_IB_GID_INDEX")
ADAPTERS = Fix("Let NCCL take all adapters that are up", "unset NCCL_IB_HCA")


@check.environment
def environment(
    infiniband: Infiniband,
    launch: Launch | None,
    names: Names | None,
    interfaces: Interfaces | None,
    gpus: Gpus | None,
    pci: Pci | None,
    configuration: NcclConfiguration | None,
    host: Host | None,
) -> Iterator[Finding]:
    """NCCL could not use the adapters that are there, or is told of one that is not."""
    variables = nccl_variables(launch, configuration)
    if variables.get("NCCL_IB_DISABLE") == "1" or variables.get("NCCL_NET", "").lower() == "socket":
        return
    asked = adapters_asked(infiniband, variables)
    if asked == [] and (infiniband.devices or not variables["NCCL_IB_HCA"].startswith("^")):
        # Where there is no adapter at all, a profile of the whole cluster set it for the nodes that have some.
        matters = bool(infiniband.devices) or spans_nodes(launch, names, interfaces)
        has = ", ".join(d.name for d in infiniband.devices) or "none"
        message = f"NCCL_IB_HCA is {variables['NCCL_IB_HCA']}, which fits no adapter (here: {has}): NCCL goes over TCP, many times slower"
        severity = Severity.WARNING if matters else Severity.NOTE
        yield check.found(message, severity=severity, fixes=[ADAPTERS])
    served = gpus_served(gpus, pci)
    # A container was given what its job needs, and one on a single node needs no adapter.
    whole = infiniband.fabric(served) and served >= 4 and not (host is not None and host.container)
    wanted = spans_nodes(launch, names, interfaces) or bool(asked) or whole
    if served:
        yield from _out_of_reach(infiniband, Severity.WARNING if wanted else Severity.NOTE)
    yield from _gids(infiniband, variables.get("NCCL_IB_GID_INDEX", ""))


def _out_of_reach(infiniband: Infiniband, severity: Severity) -> Iterator[Finding]:
    """Say what this process lacks to use active adapters."""
    if infiniband.libibverbs is None:
        return  # a ticket's ibstat: what a process may open there was not asked
    active = infiniband.carrying or [(d, p) for d, p in infiniband.active if d.efa]
    if not active or (severity is Severity.NOTE and all(p.link_layer == "Ethernet" for _, p in active)):
        return  # without a fabric, a RoCE port is any server's Ethernet
    rest = "so NCCL goes over TCP, many times slower"
    if not infiniband.verbs:
        message = (
            f"{active[0][0].name} is active, and there is no /dev/infiniband/uverbs* for this process, {rest}"
        )
        yield check.found(message, severity=severity, fixes=[GIVE, VERBS])
    elif len(infiniband.verbs_refused) == len(infiniband.verbs):
        message = f"this process may not open /dev/infiniband/{infiniband.verbs_refused[0]}, {rest}"
        yield check.found(message, severity=severity, fixes=[GIVE, VERBS])
    elif infiniband.libibverbs is False:
        message = f"{active[0][0].name} is active, and libibverbs.so.1 is not installed here, {rest}"
        yield check.found(message, severity=severity, fixes=[LIBRARY])


def _gids(infiniband: Infiniband, asked: str) -> Iterator[Finding]:
    """Judge NCCL_IB_GID_INDEX by the tables of the RoCE ports."""
    if not asked.isdecimal() or int(asked) >= MOST_GIDS:
        return
    index = int(asked)
    ports = [(d, p) for d, p in infiniband.carrying if p.link_layer == "Ethernet" and p.gids]
    empty = [(d, p) for d, p in ports if not any(g.index == index for g in p.gids)]
    old = [
        (d, p) for d, p in ports if any(g.index == index and "v2" not in g.type and g.type for g in p.gids)
    ]
    if empty:
        message = f"NCCL_IB_GID_INDEX is {asked}, and {empty[0][0].name} has no address there{_right(empty[0])}: connections fail"
        yield check.found(message, fixes=[CHOOSE])
    elif old:
        message = (
            f"NCCL_IB_GID_INDEX is {asked}, which is RoCE v1 on {old[0][0].name}{_right(old[0])}: v1 passes no router, and "
            "connections to nodes of another subnet fail"
        )
        yield check.found(message, severity=Severity.WARNING, fixes=[CHOOSE])


def _right(one: tuple[IbDevice, IbPort]) -> str:
    right = [g.index for g in one[1].gids if "v2" in g.type and g.kind == "ipv4"]
    return f" (RoCE v2 with its IPv4 address is {right[0]})" if right else ""
