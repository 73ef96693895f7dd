"""An InfiniBand or RoCE port that the GPUs need is down, or nobody manages it.

## What happens

NCCL leaves the port out without a word and sends more through the others, or goes over TCP where none is left; or it
waits for the port of the same place on another node, and ends with "Got completion … with status=12". `ibstat` shows
"State: Down", "Physical state: Polling", or "State: Initializing".

## Why

| state | physical state | what it means |
|---|---|---|
| Down | Polling | the port looks for the other end and finds none: cable, transceiver, switch port, or the switch is off |
| Down | Disabled | somebody switched it off, here or at the switch; over RoCE, its Ethernet interface is down |
| Initializing | LinkUp | the cable is good, and no subnet manager has set the port up (InfiniBand alone) |

On a board of eight GPUs each one has an adapter of its own; without it that GPU borrows its neighbour's. A port that
was never plugged in, the second of a card or one of another network, is no fault.

## How to tell

`ibstat` or `grep . /sys/class/infiniband/*/ports/*/{state,phys_state,rate}` on this node and on a good one.

## See also

- [InfiniBand port states](https://advancedclustering.com/act_kb/infiniband-port-states): what ibstat's words mean
- [NCCL: networking troubleshooting](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/networking_troubleshooting.html): `ibstat` and tests of the fabric without NCCL
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity, Symptom, count
from gpudoctor.facts import (
    Gpus,
    IbDevice,
    IbPort,
    Infiniband,
    Interfaces,
    Launch,
    Names,
    NcclConfiguration,
    Pci,
    gpus_served,
    nccl_variables,
    spans_nodes,
)

LEAVE = Fix(
    "On a cluster: leave this node out, and send the administrators its name and the output of ibstat",
    "sbatch --exclude=NODE job.sh",
)
LOOK = Fix("Compare this node's ports with a good node's", "ibstat")
MANAGER = Fix(
    "Start a subnet manager, on one node of the fabric or on a managed switch",
    "sudo systemctl start opensm",
    Kind.ADMIN,
)
CABLE = Fix(
    "Look at cable, transceiver and switch port, and at the switch's side of the link", kind=Kind.ADMIN
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where few ports are there to compare, a note where no GPU is known",
    symptoms=[
        r"\b[Pp]ort number \d{1,3} state is (?P<state>Down|Init|Armed)\b",  # perftest
        Symptom(
            r"\b(?:IB|Infini[Bb]and|RoCE|HCA|mlx[45]_\d{1,2}) (?:(?:port|NIC|nic|link|HCA|card|adapter)s? )?(?:status |state )?(?:is|are|was|were) "
            r"(?:all |both |in (?:state )?)?[`'\"]?(?P<state>[Dd]own|DOWN)\b",
            unless=r"\b(?:[Ii]f|[Ww]hen|[Ww]hether|[Ww]here|[Oo]nce|should|[Ss]pare|[Uu]nused|on purpose)\b[^.\n]{0,60}\b[Dd]own\b",
        ),
    ],
    message="an InfiniBand or RoCE port is in state <state>: what should go over it goes the long way round, or not at all",
    words_stand=True,
    fixes=[LOOK, LEAVE, CABLE],
    no_reproduction="needs an InfiniBand adapter",
)
MANY_GPUS = 4
EXCERPT = "an adapter"
"""What a text's port belongs to where the adapter's name was left out."""
Ports = list[tuple[IbDevice, IbPort]]


@check.environment
def environment(
    infiniband: Infiniband,
    pci: Pci | None,
    gpus: Gpus | None,
    launch: Launch | None,
    names: Names | None,
    interfaces: Interfaces | None,
    configuration: NcclConfiguration | None,
) -> Iterator[Finding]:
    """A port is down that its siblings show to be needed, or waits for a subnet manager."""
    served = gpus_served(gpus, pci)
    spans = spans_nodes(launch, names, interfaces)
    asked = nccl_variables(launch, configuration).get("NCCL_IB_HCA", "")
    # a prefix, such as mlx5, fits the spare ports too
    named = [] if asked.startswith("^") else [n.partition(":")[0] for n in asked.removeprefix("=").split(",")]
    by_severity: dict[Severity, Ports] = {}
    waiting: Ports = []
    for device, port in infiniband.ports:
        if not device.driver or device.efa or device.virtual_function or port.active or not port.state:
            continue
        if port.phys_state == "LinkUp" and port.link_layer == "InfiniBand":
            waiting.append((device, port))
            continue
        told = device.name in named
        severity = Severity.ERROR if told else _severity(infiniband, device, port, served, spans)
        if severity is not None:
            by_severity.setdefault(severity, []).append((device, port))
    if waiting:
        message = (
            f"the cable of {_listed(waiting)} is good, and the port is in state {waiting[0][1].state}: "
            "no subnet manager has set it up, so nothing passes"
        )
        yield check.found(message, fixes=[LOOK, MANAGER, LEAVE])
    for severity, ports in by_severity.items():
        yield check.found(_said(infiniband, ports), severity=severity)


def _severity(
    infiniband: Infiniband, device: IbDevice, port: IbPort, served: int, spans: bool
) -> Severity | None:
    """Return how bad it is that a port is down; ``None``: nothing says that it was ever meant to be up."""
    siblings = infiniband.siblings(device, port)
    active = [(d, p) for d, p in siblings if p.active]
    down = len(siblings) - len(active)
    if active and ((served and len(active) >= served) or _second(device, port, siblings)):
        return None  # each GPU has its port, or it is the unused half of cards that carry one cable
    # A server with many GPUs and InfiniBand beside them was built for several nodes; this launch may not need it.
    several = served >= MANY_GPUS and len(siblings) > 1
    perhaps = Severity.NOTE if several and port.link_layer == "InfiniBand" else None
    if not active:
        meant = spans and port.link_layer == "InfiniBand"
        looks = port.phys_state in ("Polling", "") or len(siblings) > 1  # ibv_devinfo does not tell
        if not served and device.name == EXCERPT and port.link_layer != "Ethernet":
            perhaps = Severity.NOTE  # somebody shows this one port, because it is down
        if not served and port.link_layer == "InfiniBand" and looks:
            # a text that shows no GPU, and an adapter that looks for its other end, or several that carry nothing
            perhaps = Severity.NOTE
        return (
            (Severity.ERROR if served and len(siblings) >= served else Severity.WARNING) if meant else perhaps
        )
    enough = 2 if port.link_layer == "InfiniBand" else 3
    if served > 1 and len(siblings) == served and len(siblings) > enough - 1:
        return Severity.ERROR
    if len(active) >= enough and len(active) > down:
        return Severity.ERROR if len(active) >= 3 * down else Severity.WARNING
    if port.counters.get("link_downed") and not served:
        return Severity.WARNING
    # Of a pasted text that shows no GPU nobody knows how many ports there should be: one beside it works.
    alone = not served and active and port.link_layer == "InfiniBand"
    return Severity.NOTE if alone else perhaps


def _second(device: IbDevice, port: IbPort, siblings: Ports) -> bool:
    """Return whether it is the other half of a card with a cable, and no card of the kind has two."""
    card = device.pci_address.rpartition(".")[0]
    halves: dict[str, int] = {}
    for other, one in siblings:
        key = other.pci_address.rpartition(".")[0] or other.name
        halves[key] = halves.get(key, 0) + one.active
    return halves.get(card or device.name, 0) > 0 and max(halves.values()) == 1


def _said(infiniband: Infiniband, ports: Ports) -> str:
    device, port = ports[0]
    siblings = infiniband.siblings(device, port)
    active = sum(p.active for _, p in siblings)
    kind = "its kind" if len(ports) == 1 else "their kind"
    others = (
        f"{count(active, 'port')} of {kind} carry traffic"
        if active
        else f"no port of {kind} carries any traffic"
    )
    state = f"{port.state.capitalize()}, {port.phys_state}" if port.phys_state else port.state.capitalize()
    verb = "is" if len(ports) == 1 else "are"
    return f"{_listed(ports)} {verb} down ({state}), and {others}: GPUs next to {'it' if len(ports) == 1 else 'them'} go the long way round, or over TCP"


def _listed(ports: Ports) -> str:
    return ", ".join(d.name if len(d.ports) == 1 else f"{d.name} port {p.number}" for d, p in ports)
