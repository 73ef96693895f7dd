"""NVLink or NVSwitch lost data.

## What happens

CUDA says "uncorrectable NVLink error detected during the execution". The kernel log has Xid 74, "NVLink: fatal error
detected on link 14", from Blackwell on Xid 144 to 150 with a unit, "Fatal" or "Nonfatal" and a link, or an "SXid …
Fatal" of a switch. The fabric manager's log has "detected NVSwitch fatal error".

## Why

A link had an error that repeating the transfer could not repair: a bad cable, bridge, lane, GPU or switch port. A GPU
that was reset, or a job that was killed while it used NVLink, leaves such an error behind on its peers; so does a GPU
that fell off the bus. Non-fatal errors and counted repeats were repaired, and become a sign where they grow.

## How to tell

`sudo dmesg -T | grep -iE 'Xid.*: (74|14[4-9]|150)|SXid'` names GPU and link; `nvidia-smi nvlink -e` counts per link;
`sudo grep -i error /var/log/fabricmanager.log` names the switch. The same link again after a reset is the hardware.

## See also

- [Xid catalogue](https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html): 74, 144 to 150
- [Fabric manager](https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html): the service that watches NVLink and NVSwitch
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Evidence, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.facts import Gpu, Gpus, KernelEvent, KernelLog
from gpudoctor.wordings import LISTED_XID, SAID_XID, TOLD_XIDS, XID_HAPPENED

XIDS = (74, 136, *range(144, 151), 155)
# DCGM's health watch warns of the first recovery or replay; a link that repeated a handful of transfers in weeks is no
# fault yet, and CRC errors are repaired by a replay.
REPLAYS, CRC_ERRORS = 10, 10_000
SINCE = 24 * 3600.0
"""Seconds for which an event that harmed nothing is worth more than a note."""
NUMBER = r"(?P<xid>74|136|14[4-9]|150|155)\b"
LINK = r"(?:.{0,120}?\b[Ll]ink (?P<link>\d+))?"

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning for what was repaired, a note for little of it",
    words_stand=True,
    symptoms=[
        r"uncorrectable NVLink error detected|CUDA_ERROR_NVLINK_UNCORRECTABLE|cudaErrorNvlinkUncorrectable",
        Symptom(
            r"Invalid access of peer GPU memory over nvlink or a hardware error",
            unless=r"\bXid \([\w:.]+\): 9[45]\b",
        ),
        rf"\bXid \((?:PCI:)?(?P<address>[\w:.]+)\): {NUMBER}(?:.{{0,80}}?\b(?P<kind>Fatal|fatal|Nonfatal)\b)?{LINK}",
        rf"caused by previous Xid {NUMBER}",
        rf"XidCriticalError: Xid={NUMBER}",
        rf"{SAID_XID}{NUMBER}",
        Symptom(rf"{LISTED_XID}{NUMBER}", near=TOLD_XIDS),
        rf"{LISTED_XID}{NUMBER}{XID_HAPPENED}",
        rf"DCGM_FI_DEV_XID_ERRORS\{{[^}}]{{0,400}}\}} {NUMBER}",
        rf"\bSXid \((?:PCI:)?(?P<address>[\w:.]+)\): (?P<sxid>\d+), Fatal\b{LINK}",
        r"detected NVSwitch fatal error (?P<sxid>\d+)(?:.{0,120}? port (?P<link>\d+))?",
        r"\bLink (?P<link>\d+): (?P<counter>Replay|Recovery|CRC(?: FLIT| Data)?) Errors?: [1-9]",
        r"DCGM_FR_(?:NVLINK_CRC_ERROR_THRESHOLD|NVLINK_ERROR_CRITICAL|NVSWITCH_FATAL_ERROR|SXID_ERROR)",
    ],
    follows=["gpu-fell-off-bus", "gpu-ecc-error", "illegal-memory-access"],
    fixes=[
        Fix("See the errors of each link", "nvidia-smi nvlink -e; nvidia-smi nvlink -s"),
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and that output",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "Reset all GPUs of the board, with nothing running, and start the fabric manager again",
            "sudo nvidia-smi --gpu-reset && sudo systemctl restart nvidia-fabricmanager",
            Kind.ADMIN,
        ),
        Fix(
            "If it returns on the same link: test it, reseat the bridge, or have GPU or board exchanged",
            "sudo dcgmi diag -r 3",
            Kind.ADMIN,
        ),
        Fix("Do without NVLink, which is many times slower", "export NCCL_P2P_DISABLE=1", Kind.MITIGATION),
    ],
    no_reproduction="needs an NVLink that fails",
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say where; what the link repaired by itself is a warning."""
    groups = sighting.groups
    what = next(
        (f"{name} {groups[key]}" for key, name in (("xid", "Xid"), ("sxid", "SXid")) if key in groups), ""
    )
    link = f"link {groups['link']}" if "link" in groups else ""
    of = "switch" if "sxid" in groups else "GPU"
    where = f"the {of} at {groups['address']}" if "address" in groups else ""
    place = ", ".join(part for part in (what, link, where) if part)
    words = f" ({place})" if place else ""
    if "counter" in groups or groups.get("kind") == "Nonfatal":
        message = f"NVLink had errors that it repaired{words}: where they grow, the link is failing"
        yield check.found(message, severity=Severity.WARNING)
    else:
        yield check.found(f"NVLink lost data{words}: the GPUs on it cannot go on")


@check.environment
def environment(gpus: Gpus | None, log: KernelLog | None) -> Iterator[Finding]:
    """Links counted errors, or the kernel log has one of them."""
    if log is None and (gpus is None or not gpus.devices):
        raise CannotTell("neither the counters of the links nor the kernel log could be read")
    for gpu in gpus.devices if gpus else []:
        yield from _counted(gpu)
    for event in log.of("xid") if log else []:
        if log is not None and event.code in XIDS:
            yield _logged(event, log)


def _counted(gpu: Gpu) -> Iterator[Finding]:
    sums: dict[str, int] = {}
    links: dict[str, int] = {}
    for link in gpu.nvlinks:
        counters = {
            "recovery": link.recovery_errors,
            "replay": link.replay_errors,
            "CRC": link.crc_errors,
            "failed recovery": link.recoveries_failed,
        }
        for name, number in counters.items():
            if number:
                sums[name] = sums.get(name, 0) + number
                links[name] = links.get(name, link.link) if number < sums[name] else link.link
    if not sums:
        return
    told = ", ".join(f"{number:,} {name} errors (link {links[name]} most)" for name, number in sums.items())
    much = (
        sums.get("recovery", 0) > 0
        or sums.get("failed recovery", 0) > 0
        or sums.get("replay", 0) >= REPLAYS
        or sums.get("CRC", 0) >= CRC_ERRORS
    )
    words = (
        "a link that had to be set up anew, or that repeats much, is failing" if much else "few, and repaired"
    )
    message = f"{gpu.place}: {told} on its NVLinks since the driver was loaded: {words}"
    yield check.found(message, severity=Severity.WARNING if much else Severity.NOTE)


def _logged(event: KernelEvent, log: KernelLog) -> Finding:
    repaired = "Nonfatal" in event.text
    age = log.age(event)
    place = f"Xid {event.code} of the GPU at {event.pci_address}"
    evidence = [Evidence(event.text, log.source)]
    if repaired:
        old = age is not None and age > SINCE
        message = f"{place}: NVLink had an error that it repaired; where such lines grow, the link is failing"
        return check.found(message, severity=Severity.NOTE if old else Severity.WARNING, evidence=evidence)
    return check.found(f"{place}: NVLink lost data, and the GPUs on it cannot go on", evidence=evidence)
