"""An NVSwitch reported an error (SXid).

## What happens

The kernel log has "nvidia-nvswitch0: SXid (PCI:0000:06:00.0): 20034, Fatal, Link 30 LTSSM Fault Up". Jobs that use the
GPUs on that link end with "uncorrectable NVLink error", Xid 74 or Xid 45, and new ones hang or fail to start.

## Why

A switch between the GPUs lost a link, or found broken data. After a fatal one NVIDIA asks for a reset of all GPUs and
switches that are joined; the same link again is a fault of the hardware: a switch, its connector, or the GPU at the
other end. A GPU that fell off the bus takes its links down and is the cause then. "Non-fatal" ones were dealt with,
and come when GPUs are reset, too: only where they grow are they a sign.

## How to tell

`sudo dmesg -T | grep SXid` names the switch and the link, `sudo grep -i error /var/log/fabricmanager.log` the GPU at
its other end.

## See also

- [Fabric manager](https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html): the SXid numbers, fatal and not
- [Xid catalogue](https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html): Xid and SXid together
"""

from collections.abc import Iterator

from gpudoctor import Check, Evidence, Finding, Fix, Kind, Severity
from gpudoctor.facts import KernelLog

check = Check(
    severity=Severity.ERROR,
    otherwise="a note where it was not fatal",
    follows=["gpu-fell-off-bus"],
    fixes=[
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and this line",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "Reset all GPUs and switches of the board, with nothing running, and start the fabric manager again",
            "sudo nvidia-smi --gpu-reset && sudo systemctl restart nvidia-fabricmanager",
            Kind.ADMIN,
        ),
        Fix("Reboot where the reset fails", "sudo reboot", Kind.ADMIN),
        Fix("If it returns on the same link: have the board tested", "sudo dcgmi diag -r 3", Kind.ADMIN),
    ],
    no_reproduction="needs an NVSwitch that fails",
)


@check.environment
def environment(log: KernelLog) -> Iterator[Finding]:
    """The kernel log has a fatal error of a switch; others are a note."""
    events = log.of("sxid")
    fatal = [event for event in events if event.fatal]
    for event in fatal or events[-1:]:
        numbers = f"SXid {event.code} of the switch at {event.pci_address}"
        times = f", {event.count} times" if event.count > 1 else ""
        if event.fatal:
            message = f"{numbers}{times}: fatal; the GPUs on its links cannot go on until they are reset"
        else:
            message = f"{numbers}{times}: not fatal, it was dealt with; a sign only where such lines grow"
        severity = None if event.fatal else Severity.NOTE
        yield check.found(message, severity=severity, evidence=[Evidence(event.text, log.source)])
