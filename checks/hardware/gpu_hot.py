"""A GPU or its memory is about as hot as it may become.

## What happens

`nvidia-smi` shows a temperature within a few degrees of the slowdown temperature, or beyond it. The clocks fall, steps
take longer under load than in the first minutes, and all ranks wait for the hot one.

## Why

The air flow: a blocked intake, a failed fan, fans at the speed of an idle server, a hot aisle, cards without a free slot
between them, a passive data-centre card in a workstation. With water: the pump or the temperature of the inlet.

## How to tell

`nvidia-smi -q -d TEMPERATURE -i GPU` shows the temperature, the limits, and how many degrees are left ("T.Limit"). Compare
the GPUs of the node under the same load. `sudo ipmitool sdr type fan` shows the server's fans.

## See also

- [nvidia-smi](https://docs.nvidia.com/deploy/nvidia-smi/index.html): Temperature
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Gpu, Gpus, Pci

NEAR = 5
"""Degrees to the slowdown temperature: within them the clocks begin to fall."""
TOO_HOT, MEMORY_TOO_HOT = 90, 105
"""Celsius, where NVML tells no limit: where data-centre GPUs slow down (87 to 93), and beyond what any memory is made for."""

check = Check(
    severity=Severity.WARNING,
    fixes=[
        Fix("See the temperatures and limits of all", "nvidia-smi -q -d TEMPERATURE"),
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and that output",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix("Look for a fan that does not turn", "sudo ipmitool sdr type fan", Kind.ADMIN),
        Fix("Repair the cooling: fans, dust, air flow, the controller's fan profile", kind=Kind.ADMIN),
        Fix("Lower the power limit, which costs speed", "sudo nvidia-smi -pl WATTS", Kind.MITIGATION),
    ],
    no_reproduction="needs a GPU that overheats",
)


@check.environment
def environment(gpus: Gpus, pci: Pci | None) -> Iterator[Finding]:
    """A GPU has used up its margin to the slowdown temperature, or its memory is too hot."""
    if gpus.silence(pci):
        raise CannotTell(gpus.silence(pci))
    if gpus.read and all(
        g.temperature_celsius is None and g.temperature_margin_celsius is None for g in gpus.read
    ):
        raise CannotTell("NVML does not tell the temperatures")
    reasons = {gpu.index: _reason(gpu) for gpu in gpus.read}
    hot = [gpu for gpu in gpus.read if reasons[gpu.index]]
    if hot:
        said = [f"{gpu.short}: {reasons[gpu.index]}" for gpu in hot]
        verb = "is" if len(hot) == 1 else "are"
        message = (
            f"{gpus.named(hot)} {verb} too hot: {reasons[hot[0].index]}; the clocks fall, and all ranks wait"
        )
        yield check.found(message, evidence=said)


def _reason(gpu: Gpu) -> str:
    """Say how hot a GPU is that is too hot; empty: it is not."""
    now, margin = gpu.temperature_celsius, gpu.temperature_margin_celsius
    memory = gpu.memory_temperature_celsius
    if margin is not None and margin <= NEAR:
        limit = f"{-margin} °C above" if margin < 0 else f"{margin} °C below" if margin else "at"
        return (f"{now} °C, " if now is not None else "") + f"{limit} the slowdown temperature"
    if now is not None and margin is None and now >= TOO_HOT:
        return f"{now} °C"
    if memory is not None and memory >= (gpu.memory_temperature_max_celsius or MEMORY_TOO_HOT):
        return f"its memory has {memory} °C"
    return ""
