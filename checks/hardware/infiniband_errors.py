"""The link of an InfiniBand or RoCE port makes errors.

## What happens

Training is slower than on other nodes, for packets are sent again; or it ends now and then with "Got completion …
with status=12", and runs again when it is started once more.

## Why

| counter | what it counts |
|---|---|
| symbol_error, port_rcv_errors | bits that arrive wrong: cable, transceiver, dirt on the fibre |
| link_error_recovery, link_downed | times that the link had to be set up again: a flapping link ends jobs |
| local_link_integrity_errors, excessive_buffer_overrun_errors | the same, counted by the port's own limits |
| local_ack_timeout_err, req_transport_retries_exceeded | the other side did not answer: packets are lost on the way, over RoCE mostly because flow control is missing |

The kernel log may say why: "Port module event[error]: module 0, Cable error", "High temperature on sensors".

They count since the driver was loaded. What grows now matters; a few from the time when cables were plugged do not.
`out_of_sequence` grows with adaptive routing, and `port_xmit_wait` with load, on a healthy fabric too.

## How to tell

`grep . /sys/class/infiniband/*/ports/*/counters/{symbol_error,link_downed,link_error_recovery}` twice, a minute apart
and under load. `perfquery -x` and `ibqueryerrors` show the fabric's other ends.

## See also

- [ibqueryerrors](https://man.archlinux.org/man/ibqueryerrors.8.en): the counters and their thresholds
"""

from collections.abc import Iterator

from gpudoctor import Check, Evidence, Finding, Fix, Kind, Severity, count
from gpudoctor.facts import IbDevice, IbPort, Infiniband, KernelLog

LINK = {
    "symbol_error": "symbol errors",
    "link_error_recovery": "recoveries of the link",
    "link_downed": "losses of the link",
    "port_rcv_errors": "packets received with errors",
    "local_link_integrity_errors": "link integrity errors",
    "excessive_buffer_overrun_errors": "buffer overruns",
}
TRANSPORT = {
    "local_ack_timeout_err": "packets without an answer",
    "req_transport_retries_exceeded": "transfers given up",
}
# infiniband-diags' file error_thresholds takes 10 for each of LINK; here it is 10 for each day that the machine runs.
A_DAY, UNANSWERED_A_DAY = 10, 1000

check = Check(
    severity=Severity.WARNING,
    otherwise="a note where the kernel says that the slot gives too little power",
    fixes=[
        Fix(
            "See whether they grow: twice, a minute apart, under load",
            "grep . /sys/class/infiniband/*/ports/*/counters/symbol_error; grep . /sys/class/infiniband/*/ports/*/counters/link_downed",
        ),
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and that output",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix("Clean or exchange the cable or transceiver", kind=Kind.ADMIN),
    ],
    no_reproduction="needs an InfiniBand adapter",
)


@check.environment
def environment(infiniband: Infiniband, log: KernelLog | None) -> Iterator[Finding]:
    """A port's counters grow while gpudoctor looks or are more than some plugging explains, or the kernel complains."""
    yield from _logged(infiniband, log)
    days = max(infiniband.uptime_days or 1.0, 1.0)
    for device, port in infiniband.ports:
        if device.efa or not device.driver or not port.active:
            continue
        said = _growing(port) or _many(port, days)
        if said:
            yield check.found(
                f"{_name(device, port)}: {said}. Its link makes errors, and what is lost is sent again"
            )


def _logged(infiniband: Infiniband, log: KernelLog | None) -> Iterator[Finding]:
    """Quote what mlx5's driver says of an adapter: a bad cable, heat, or a slot that gives too little power."""
    names = {device.pci_address: device.name for device in infiniband.devices if device.pci_address}
    for event in log.of("mlx5") if log else []:
        name = names.get(event.pci_address, "")
        place = f"{name} ({event.pci_address})" if name else f"the adapter at {event.pci_address}"
        power = "insufficient power" in event.text
        # Many a server says so at boot and is well; an optical module may be left without.
        rest = "its slot gives less power than it asks for" if power else "its link is at risk"
        yield check.found(
            f"the kernel log complains of {place}: {rest}",
            severity=Severity.NOTE if power else None,
            evidence=[Evidence(event.text, log.source if log else None)],
        )


def _growing(port: IbPort) -> str:
    known = {name: said for name, said in {**LINK, **TRANSPORT}.items() if port.growing.get(name)}
    words = [f"{port.growing[name]} more {said} ({port.counters[name]} now)" for name, said in known.items()]
    return ", ".join(words) + " within a moment" if words else ""


def _many(port: IbPort, days: float) -> str:
    limits = {**dict.fromkeys(LINK, A_DAY * days), **dict.fromkeys(TRANSPORT, UNANSWERED_A_DAY * days)}
    many = {name: port.counters[name] for name, limit in limits.items() if port.counters.get(name, 0) > limit}
    words = [f"{value} {({**LINK, **TRANSPORT})[name]}" for name, value in many.items()]
    return ", ".join(words) + f" in {count(round(days), 'day')} or less" if words else ""


def _name(device: IbDevice, port: IbPort) -> str:
    return device.name if len(device.ports) == 1 else f"{device.name} port {port.number}"
