"""GPUs of one kind in this node have different firmware.

## What happens

`nvidia-smi --query-gpu=index,name,vbios_version --format=csv` shows more than one version for boards that are equal
otherwise. Mostly nothing else; sometimes one GPU has other clocks, power limits or NVLink behaviour than the others.

## Why

A card was exchanged, or an update of the firmware reached only some. Clusters ask for one version throughout (Azure's
health checks do), since clocks, power and links are set by it. A board of another part number has a firmware of its own: that
is a note, and tells that this GPU may not be quite like its neighbours.

## How to tell

The command above, on a node of the same kind that works well. The vendor's firmware package for the board names the
version that belongs to it.

## See also

- [nvidia-smi](https://docs.nvidia.com/deploy/nvidia-smi/index.html): VBIOS Version, Board Part Number
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Gpu, Gpus, Pci

SEE_PARTS = Fix("See the part number of each", "nvidia-smi -q | grep -E '^GPU|Part Number'")

check = Check(
    severity=Severity.WARNING,
    otherwise="a note for cards of workstations, and for boards of several part numbers",
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
    """Boards of one name have several part numbers, or several versions of the VBIOS with one; cards of shops always differ."""
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
    yield from _parts([gpu for some in equal.values() for gpu in some], gpus)


def _parts(cards: list[Gpu], gpus: Gpus) -> Iterator[Finding]:
    """Note that boards of one name are not of one part number: one was exchanged for another version of the board."""
    for name in sorted({gpu.name for gpu in cards}):
        parts: dict[str, list[Gpu]] = {}
        for gpu in cards:
            if gpu.name == name and gpu.board_part:
                parts.setdefault(gpu.board_part, []).append(gpu)
        if len(parts) > 1:
            yield check.found(
                f"{sum(map(len, parts.values()))} x {name} are of {len(parts)} part numbers: boards of another version may have "
                "other memory, power and firmware",
                severity=Severity.NOTE,
                evidence=[f"{part}: GPU {gpus.numbers(those)}" for part, those in sorted(parts.items())],
                fixes=[SEE_PARTS],
            )
