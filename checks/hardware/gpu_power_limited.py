"""A GPU may draw less power than it was made for.

## What happens

`nvidia-smi -q -d POWER` shows a "Current Power Limit" below the "Default Power Limit". Under load "SW Power Cap" is
active at clocks that are lower than those of other nodes, and training is slower without any error.

## Why

Somebody lowered the limit (`nvidia-smi -pl`), for heat, for noise or for a weak supply; a cluster's power management did;
or a start-up script sets one value for GPUs of different models. It holds until the driver is loaded again.

## How to tell

`nvidia-smi --query-gpu=index,power.limit,power.default_limit,power.max_limit --format=csv` shows the limits of all.
Where one GPU alone has a lower one, all ranks wait for it.

## See also

- [nvidia-smi](https://docs.nvidia.com/deploy/nvidia-smi/index.html): `-pl`, Power Limit
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Gpu, Gpus, Pci

LESS = 0.95
"""Of the default limit: a little below it costs next to nothing."""

LEAVE_OUT = Fix(
    "On a cluster: leave this node out, and send the administrators its name and both limits",
    "sbatch --exclude=NODE job.sh",
)

check = Check(
    severity=Severity.WARNING,
    symptoms=[
        Symptom(
            r"\b(?:getting|gets?|got|is|are|being|stays?|sits?) (?:power[- ]?|always )?(?:capped|limited|throttled|stuck) (?:at|to|by) "
            r"(?:about |around |~)?(?P<watts>\d{2,3}) ?(?:W|[Ww]atts?)\b",
            near=r"\b(?:GPU|gpu|card|nvidia-smi|V100|A100|H100|H200|RTX|NVIDIA)\b",
            unless=r"nvidia-smi (?:-i \S{1,12} )?-pl\b|--power-limit",
        ),
    ],
    message="a GPU may draw no more than <watts> W: where that is less than its default, it costs speed under load",
    fixes=[
        LEAVE_OUT,
        Fix("Give it its default again", "sudo nvidia-smi -i GPU -pl WATTS", Kind.ADMIN),
    ],
    no_reproduction="needs a GPU, and root",
)


@check.environment
def environment(gpus: Gpus, pci: Pci | None) -> Iterator[Finding]:
    """The enforced power limit is below the default one."""
    if gpus.silence(pci):
        raise CannotTell(gpus.silence(pci))
    known = [gpu for gpu in gpus.read if gpu.power_limit_watts and gpu.power_limit_default_watts]
    limited = [gpu for gpu in known if _share(gpu) < LESS]
    if not limited:
        found = list(_below_siblings(gpus))
        yield from found
        if gpus.read and not known and not found:
            raise CannotTell("NVML does not tell the power limits")
        return
    said = [
        f"{gpu.short}: {gpu.power_limit_watts:.0f} of {gpu.power_limit_default_watts:.0f} W"
        for gpu in limited
    ]
    lowest = min(limited, key=_share)
    alone = len(limited) < len(gpus.read)
    waits = "; all ranks wait for it" if alone else ""
    message = (
        f"{gpus.named(limited)}: the power limit is {lowest.power_limit_watts:.0f} W, and "
        f"{lowest.power_limit_default_watts:.0f} W by default: it costs speed under load{waits}"
    )
    default = lowest.power_limit_default_watts
    command = f"sudo nvidia-smi -i {gpus.numbers(limited)} -pl {default:.0f}"
    yield check.found(
        message,
        evidence=said,
        fixes=[
            LEAVE_OUT,
            Fix("Set the default, unless somebody lowered it on purpose", command, Kind.ADMIN),
        ],
    )


def _below_siblings(gpus: Gpus) -> Iterator[Finding]:
    """Find GPUs with less than others of their model, where NVML does not tell the default."""
    most: dict[str, float] = {}
    for gpu in gpus.read:
        most[gpu.name] = max(most.get(gpu.name, 0.0), gpu.power_limit_watts or 0.0)
    low = [
        gpu
        for gpu in gpus.read
        if gpu.power_limit_watts
        and not gpu.power_limit_default_watts
        and any(letter.isdigit() for letter in gpu.name)  # nvidia-smi's table cuts a name before its number
        and gpu.power_limit_watts < LESS * most[gpu.name]
    ]
    if low:
        message = (
            f"{gpus.named(low)}: the power limit is {low[0].power_limit_watts:.0f} W, and {most[low[0].name]:.0f} W of "
            "others of the same model: all ranks wait for the slower ones"
        )
        yield check.found(message)


def _share(gpu: Gpu) -> float:
    return (gpu.power_limit_watts or 0) / (gpu.power_limit_default_watts or 1)
