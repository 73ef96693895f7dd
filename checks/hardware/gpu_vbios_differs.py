"""GPUs of one kind in this node have different firmware.

## What happens

`nvidia-smi --query-gpu=index,name,vbios_version --format=csv` shows more than one version for boards that are equal
otherwise. Mostly nothing else; sometimes one GPU has other clocks, power limits or NVLink behaviour than the others.

## Why

A card was exchanged, or an update of the firmware reached only some. Clusters ask for one version throughout (Azure's
health checks do), since clocks, power and links are set by it.

## How to tell

The command above, on a node of the same kind that works well. The vendor's firmware package for the board names the
version that belongs to it.

## See also

- [nvidia-smi](https://docs.nvidia.com/deploy/nvidia-smi/index.html): VBIOS Version, Board Part Number
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Gpu, Gpus, Pci

check = Check(
    severity=Severity.WARNING,
    otherwise="a note for cards of workstations",
    fixes=[
        Fix(
            "See them side by side, and send the administrators the list",
            "nvidia-smi --query-gpu=index,name,vbios_version --format=csv",
        ),
        Fix("Have the vendor's firmware package bring all boards to one version", kind=Kind.ADMIN),
    ],
    no_reproduction="needs 2 GPUs of one kind",
)


@check.environment
def environment(gpus: Gpus, pci: Pci | None) -> Iterator[Finding]:
    """Boards of one name and part number have several versions of the VBIOS; cards of shops always differ."""
    if gpus.silence(pci):
        raise CannotTell(gpus.silence(pci))
    equal: dict[tuple[str, str], list[Gpu]] = {}
    for gpu in gpus.read:
        if gpu.vbios and gpu.name and "GeForce" not in gpu.name and "TITAN" not in gpu.name:
            equal.setdefault((gpu.name, gpu.board_part), []).append(gpu)
    for (name, _), some in equal.items():
        versions = {v: [g for g in some if g.vbios == v] for v in sorted({gpu.vbios for gpu in some})}
        if len(versions) > 1:
            said = [f"{version}: GPU {gpus.numbers(those)}" for version, those in versions.items()]
            # Cards of a workstation are bought one by one.
            severity = Severity.NOTE if any(word in name for word in ("RTX", "Quadro")) else None
            message = (
                f"{len(some)} x {name} have {len(versions)} versions of the VBIOS: {', '.join(versions)}"
            )
            yield check.found(message, severity=severity, evidence=said)
