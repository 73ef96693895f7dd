"""An InfiniBand or RoCE port is up and slower than its siblings.

## What happens

Nothing fails. Every collective between nodes waits for the slowest port, so one at 100 instead of 400 Gb/s costs all
of them most of their speed.

## Why

- A lane of the cable or transceiver failed: the link came up with one or two lanes of four.
- Both ends agreed on a lower speed: a cable that is not made for more, dirt, or a switch port that was set so.
- The cable leads to another switch, of an older generation.

Adapters of another kind, for storage or the machine's own network, may be slower and are not compared. "2X" is right
where one switch port is split between two nodes.

## How to tell

`grep . /sys/class/infiniband/*/ports/*/rate` on this node and on a good one: SDR is 2.5 Gb/s for each lane, QDR 10, FDR
14, EDR 25, HDR 50, NDR 100, XDR 200.

## See also

- [InfiniBand port states](https://advancedclustering.com/act_kb/infiniband-port-states): the rate, and what it should match
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Gpus, IbDevice, IbPort, Infiniband, Pci, gpus_served

check = Check(
    severity=Severity.WARNING,
    fixes=[
        Fix("Compare the rates", "grep . /sys/class/infiniband/*/ports/*/rate"),
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and that output",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix("Clean or exchange cable and transceiver, and bring the link up again", kind=Kind.ADMIN),
    ],
    no_reproduction="needs an InfiniBand adapter",
)


@check.environment
def environment(infiniband: Infiniband, pci: Pci | None, gpus: Gpus | None) -> Iterator[Finding]:
    """A port runs slower, or on fewer lanes, than most of its kind."""
    served = gpus_served(gpus, pci)
    for device, port in infiniband.active:
        if device.efa or port.rate_gbps is None:
            continue
        shown = f"{device.name} runs at {port.rate_gbps:g} Gb/s" + (
            f" ({port.lanes}X {port.speed})" if port.lanes and port.speed else ""
        )
        faster = _faster(infiniband, device, port, served)
        if faster:
            rest = f"and {len(faster)} of its kind at {faster[0].rate_gbps:g}: all collectives wait for the slowest"
            yield check.found(f"{shown}, {rest}")
        elif port.lanes == 1 and port.link_layer == "InfiniBand":
            yield check.found(f"{shown}: one lane of four came up, mostly a bad cable or transceiver")


def _faster(infiniband: Infiniband, device: IbDevice, port: IbPort, served: int) -> list[IbPort]:
    """Return the siblings that are faster, where they are the rule."""
    active = [(d, p) for d, p in infiniband.siblings(device, port) if p.active and p.rate_gbps is not None]
    top = max((p.rate_gbps or 0 for _, p in active), default=0.0)
    fast = [p for _, p in active if p.rate_gbps == top]
    if (port.rate_gbps or 0) >= top or (served and len(fast) >= served):
        return []
    lost_lanes = any(p.speed == port.speed and (p.lanes or 0) > (port.lanes or 0) for p in fast)
    rule = len(fast) * 2 > len(active) or len(active) == served
    return fast if rule or (lost_lanes and len(fast) * 2 >= len(active)) else []
