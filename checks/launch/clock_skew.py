"""The clock of this machine differs from the time of the network.

## What happens

Nothing in torch stops over it. Around it things do: "Munge decode failed: Rewound credential" and a node that Slurm does
not take, "certificate is not yet valid" or "has expired" where a model is fetched, Kerberos' "Clock skew too great", make's
"Clock skew detected. Your build may be incomplete". And the lines of two nodes' logs cannot be put in order, so that the
rank that failed first is looked for on the wrong node.

## Why

A computer's own clock gains or loses seconds a day. A time service (chrony, ntpd, systemd-timesyncd) sets it right as long
as it runs and reaches its server; on nodes without internet that must be one of the site. After a sleep, a snapshot of a
virtual machine or a lost battery the clock may be hours away at once.

MUNGE, with which Slurm's daemons know each other, refuses what is older than five minutes, or from the future.

## How to tell

`timedatectl` says "System clock synchronized: yes", `chronyc tracking` how far the clock is off ("System time"). Of two nodes:
`date +%s.%N` on both, at once.

## See also

- [munged](https://github.com/dun/munge/blob/master/src/munged/munged.8.in): credentials that are expired or rewound, and clocks
- [timedatectl](https://www.freedesktop.org/software/systemd/man/latest/timedatectl.html): shows the clock and its time service, and turns that on
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Clock, Interfaces, Launch, Names, spans_nodes

FAR = 1.0
"""Seconds: a clock that a service keeps is within a few thousandths."""

SEE = Fix("See whether a time service keeps it, and how far it is off", "timedatectl; chronyc tracking")
SERVICE = Fix("Have a time service keep it", "sudo timedatectl set-ntp true", Kind.ADMIN)
STEP = Fix("Set it at once, where chrony runs", "sudo chronyc makestep", Kind.ADMIN)

check = Check(
    severity=Severity.WARNING,
    otherwise="a note where no time service keeps the clock, and nothing says that it is wrong",
    machine=True,
    symptoms=[
        r"Munge decode failed: (?P<munge>Rewound|Expired) credential",
        r"\b(?P<words>Clock skew too great)\b",
        r"\b(?P<words>Clock skew detected)\.  ?Your build may be incomplete",
        r"certificate verify failed: certificate is (?P<early>not yet valid)",
    ],
    message="a clock is wrong here or on the other side[: what MUNGE signed is <munge>][: <words>][: a certificate is <early>]",
    fixes=[SEE, SERVICE, STEP],
    no_reproduction="a clock is the whole machine's, and setting it harms what runs there",
)


@check.environment
def environment(
    clock: Clock, launch: Launch | None, names: Names | None, interfaces: Interfaces | None
) -> Iterator[Finding]:
    """The clock is off by seconds, or no time service keeps it while several nodes train."""
    if clock.offset_seconds is not None and abs(clock.offset_seconds) >= FAR:
        way = "behind" if clock.offset_seconds < 0 else "ahead of"
        message = (
            f"this machine's clock is {abs(clock.offset_seconds):.1f} s {way} the time of the network: logs of several nodes are "
            "out of order, and beyond minutes Slurm and certificates refuse it"
        )
        yield check.found(message, evidence=[clock.said] if clock.said else [])
        return
    if clock.synchronized is None:
        if clock.offset_seconds is None:
            raise CannotTell("whether a time service keeps the clock is not known")
        return
    if not clock.synchronized and (clock.said or spans_nodes(launch, names, interfaces)):
        message = "no time service keeps this machine's clock: it drifts away from that of the other nodes, seconds a day"
        yield check.found(message, severity=Severity.NOTE, evidence=[clock.said] if clock.said else [])
