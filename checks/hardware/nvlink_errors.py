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

from gpudoctor import Check, Finding, Fix, Kind, Severity, Sighting, Symptom

NUMBER = r"(?P<xid>74|136|14[4-9]|150|155)\b"
LINK = r"(?:.{0,120}?\b[Ll]ink (?P<link>\d+))?"

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"uncorrectable NVLink error detected|CUDA_ERROR_NVLINK_UNCORRECTABLE|cudaErrorNvlinkUncorrectable",
        Symptom(
            r"Invalid access of peer GPU memory over nvlink or a hardware error",
            unless=r"\bXid \([\w:.]+\): 9[45]\b",
        ),
        rf"\bXid \((?:PCI:)?(?P<address>[\w:.]+)\): {NUMBER}(?:.{{0,80}}?\b(?P<kind>Fatal|fatal|Nonfatal)\b)?{LINK}",
        rf"caused by previous Xid {NUMBER}",
        rf"XidCriticalError: Xid={NUMBER}",
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
