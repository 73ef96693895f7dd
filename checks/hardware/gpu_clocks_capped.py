"""A setting keeps the GPU's clocks below what it could do.

## What happens

Under load the SM clock stays well below its maximum although power and temperature leave room; `nvidia-smi -q -d
PERFORMANCE` shows "Applications Clocks Setting: Active". Training is slower than on other nodes, without any error.

## Why

Somebody set application clocks (`nvidia-smi -ac`) or locked the clocks (`nvidia-smi -lgc`): for a benchmark that should
repeat, for a cluster's power budget, in a job's prologue that was not undone. It holds until the driver is loaded again.

## How to tell

`nvidia-smi -q -d CLOCK -i GPU` shows current, application, default application and maximum clocks. On an idle GPU a low
clock is normal.

## See also

- [nvidia-smi](https://docs.nvidia.com/deploy/nvidia-smi/index.html): `-ac`, `-lgc`, Clocks
- [NVML's clocks event reasons](https://docs.nvidia.com/deploy/nvml-api/api/group__nvmlClocksEventReasons.html): what holds clocks down
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Gpu, Gpus, Pci

SETTING = "applications_clocks_setting"
NEARLY, LOADED, LOCKED = 0.9, 90, 0.7
"""Of the clock that it could have; percent of utilization; and a share of the maximum that no boost of a loaded GPU
stays below where nothing holds it down: the maximum of a GeForce is more than it reaches."""
REACHING = ("7.0", "8.0", "9.0", "10.0", "10.3")
"""Capabilities of chips for computing alone (V100 to B300), which reach their maximum where nothing holds them down."""

CLOCKS = Fix("See the clocks", "nvidia-smi -q -d CLOCK,PERFORMANCE")
LEAVE_OUT = Fix(
    "On a cluster: leave this node out, and send the administrators its name and that output",
    "sbatch --exclude=NODE job.sh",
)

check = Check(
    severity=Severity.WARNING,
    fixes=[
        CLOCKS,
        LEAVE_OUT,
        Fix("Take back application clocks", "sudo nvidia-smi -rac", Kind.ADMIN),
        Fix("Take back locked clocks", "sudo nvidia-smi -rgc", Kind.ADMIN),
    ],
    no_reproduction="needs a GPU, and root",
)


@check.environment
def environment(gpus: Gpus, pci: Pci | None) -> Iterator[Finding]:
    """Application clocks are below the default, or a setting holds the clock of a GPU that is not idle."""
    if gpus.silence(pci):
        raise CannotTell(gpus.silence(pci))
    if gpus.read and all(
        gpu.sm_clock_mhz is None and gpu.sm_clock_application_mhz is None for gpu in gpus.read
    ):
        raise CannotTell("NVML does not tell the clocks")
    most: dict[str, int] = {}
    for gpu in gpus.read:
        most[gpu.name] = max(most.get(gpu.name, 0), gpu.sm_clock_max_mhz or 0)
    reasons = {gpu.index: _reason(gpu) or _below_siblings(gpu, most[gpu.name]) for gpu in gpus.read}
    if capped := [gpu for gpu in gpus.read if reasons[gpu.index]]:
        said = [f"{gpu.short}: {reasons[gpu.index]}" for gpu in capped]
        message = f"the clocks of {gpus.named(capped)} are held down by a setting: {reasons[capped[0].index]}"
        numbers = gpus.numbers(capped)
        fixes = [
            LEAVE_OUT,
            Fix("Take back application clocks", f"sudo nvidia-smi -i {numbers} -rac", Kind.ADMIN),
            Fix("Take back locked clocks", f"sudo nvidia-smi -i {numbers} -rgc", Kind.ADMIN),
            CLOCKS,
        ]
        yield check.found(message, evidence=said, fixes=fixes)


def _below_siblings(gpu: Gpu, most: int) -> str:
    """Say that a GPU cannot reach the clock of others of its model; empty: it can, or that is not known."""
    could = gpu.sm_clock_max_mhz
    return (
        f"{could} MHz at most, {most} of others of the same model" if could and could < NEARLY * most else ""
    )


def _reason(gpu: Gpu) -> str:
    """Say what the clocks of a GPU are held at; empty: nothing holds them, or it does not show."""
    now, most = gpu.sm_clock_mhz, gpu.sm_clock_max_mhz
    set_to, default = gpu.sm_clock_application_mhz, gpu.sm_clock_application_default_mhz
    if set_to and default and set_to < default:
        return f"application clock {set_to} MHz, {default} by default"
    reasons = gpu.throttle_reasons
    if reasons is None or not now or not most or "gpu_idle" in reasons:
        return ""
    # The default application clock of some models is far below the maximum, and theirs by design.
    could = default or most
    if reasons == [SETTING] and now < NEARLY * could:
        return f"{now} of {could} MHz"
    share = NEARLY if gpu.capability in REACHING else LOCKED
    if not reasons and (gpu.utilization_percent or 0) >= LOADED and now < share * most:
        return f"{now} of {most} MHz under load, and no other reason"
    return ""
