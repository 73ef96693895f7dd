"""A GPU computes or moves its own memory much slower than its model should.

## What happens

Nothing fails. An epoch takes longer than on the machine next door, and under DDP all ranks wait for the slow one: seven
fast GPUs and one that has half their speed make eight at half speed.

## Why

- Something holds its clocks down: heat, a lost power supply, a power cap, locked clocks.
- Another process computes on it at the same time.
- Its memory has a fault that it corrects again and again.

GPUs of one model differ a little by nature: by 8 % on average and 22 % at most in one study of five clusters, apart from
single ones that took 1.5 times as long as the median.

## How to tell

`gpudoctor check --deep` multiplies matrices on all GPUs at once, copies within their memory, and samples their clocks.
It compares with what the model is known to give, and with the other GPUs of the model in the machine: below 60 % of the
best known product, below the memory bandwidth that DCGM asks for (55 % of the data sheet's), or below three quarters of
the others.
A model of which no figures are known is measured and compared with its siblings alone.

## See also

- [Not all GPUs are created equal](https://arxiv.org/abs/2208.11035): how much GPUs of one model differ
- [nvidia-smi](https://docs.nvidia.com/deploy/nvidia-smi/index.html): Clocks Event Reasons
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import DeviceSpeed, Gpus, Measurements, gpu_model, siblings_median

SIBLINGS = 0.75
"""Of the others' median: GPUs of one model differ by 22 % at most (arXiv 2208.11035)."""
HARDWARE = ("hw_slowdown", "hw_thermal_slowdown", "hw_power_brake_slowdown")
HELD = 0.5
"""The share of samples from which such a reason is no moment's."""
BUSY = 20
"""Per cent of utilization before anything was measured: somebody else computes there."""


def fixes(gpu: str) -> list[Fix]:
    """Return the fixes for a GPU, by its PCI address or its number."""
    return [
        Fix(
            "See what holds it back, while the training runs",
            f"nvidia-smi -q -d CLOCK,PERFORMANCE,POWER,TEMPERATURE,ECC -i {gpu}",
        ),
        Fix(
            "See whether somebody else computes on it",
            "nvidia-smi --query-compute-apps=gpu_uuid,pid,name,used_memory --format=csv",
        ),
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and that output",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix("Free clocks that were locked", f"sudo nvidia-smi -i {gpu} -rgc", Kind.ADMIN),
        Fix("Have NVIDIA's own diagnosis look at it", "sudo dcgmi diag -r 3", Kind.ADMIN),
        Fix(
            "Leave this GPU out (here GPU 0 of four), which costs its share",
            "export CUDA_VISIBLE_DEVICES=1,2,3",
            Kind.MITIGATION,
        ),
    ]


check = Check(
    severity=Severity.WARNING,
    follows=["gpu-throttled", "gpu-hot", "gpu-clocks-capped", "gpu-power-limited", "gpu-ecc-error"],
    fixes=fixes("GPU"),
    no_reproduction="needs a GPU that is slow",
)


@check.environment
def environment(measurements: Measurements, gpus: Gpus | None) -> Iterator[Finding]:
    """A GPU's matrix product or memory is far below its model or its siblings, or its hardware holds it back."""
    if not measurements.gpus:
        raise CannotTell(measurements.why("GPU") or "no GPU was measured")
    slow: list[tuple[DeviceSpeed, str]] = []
    judged = 0
    for device in measurements.gpus:
        if _busy(device, gpus):
            continue
        reasons, compared = _shortfalls(device, measurements.gpus)
        judged += compared
        slow += [(device, reason) for reason in reasons]
    if slow:
        device, reason = slow[0]
        places = list(dict.fromkeys(other.place for other, _ in slow))
        others = len(places) - 1
        more = "" if others == 0 else "; so does another one" if others == 1 else f"; so do {others} others"
        message = f"{device.place} {reason}{more}: every rank waits for the slowest"
        evidence = [f"{other.place} {words}" for other, words in slow]
        yield check.found(
            message,
            evidence=evidence if len(slow) > 1 else [],
            fixes=fixes(device.pci_address or str(device.ordinal)),
        )
    elif why := measurements.why("GPU"):
        raise CannotTell(why)
    elif not judged:
        raise CannotTell(_unjudged(measurements, gpus))


def _unjudged(measurements: Measurements, gpus: Gpus | None) -> str:
    if any(_busy(device, gpus) for device in measurements.gpus):
        return "another process computed on the GPUs"
    names = ", ".join(sorted({device.name for device in measurements.gpus}))
    return f"no figures are known for {names}, and there are no siblings to compare with"


def _busy(device: DeviceSpeed, gpus: Gpus | None) -> bool:
    """Return whether somebody else computed on the GPU before it was measured."""
    known = gpus.devices if gpus else []
    same = (gpu for gpu in known if gpu.pci_address and gpu.pci_address == device.pci_address)
    return any((gpu.utilization_percent or 0) > BUSY for gpu in same)


def _shortfalls(device: DeviceSpeed, gpus: list[DeviceSpeed]) -> tuple[list[str], int]:
    """Return what is too slow, in words, and how many comparisons were made."""
    model = gpu_model(device.name)
    others = [gpu for gpu in gpus if gpu is not device and gpu.name == device.name]
    found, compared = [], 0
    kinds = (
        ("matrix_product", "TFLOPS", f"in {device.matrix_type} products", model and model.matrix_product),
        ("memory", "GB/s", "in its memory", model and model.memory),
    )
    for field, unit, words, expected in kinds:
        value: float | None = getattr(device, field)
        if value is None:
            continue
        if expected and not (field == "matrix_product" and device.matrix_type != "bfloat16"):
            compared += 1
            if value < expected.least:
                share = 100 * value / expected.usual
                found.append(
                    f"reaches {value:.0f} {unit} {words}, {share:.0f} % of the {expected.usual:.0f} that its model gives"
                )
                continue
        usual = siblings_median([v for gpu in others if (v := getattr(gpu, field)) is not None])
        compared += usual is not None
        if usual is not None and value < SIBLINGS * usual:
            found.append(
                f"reaches {value:.0f} {unit} {words}, {100 * value / usual:.0f} % of the {usual:.0f} of its siblings"
            )
    held = [reason for reason in HARDWARE if device.throttled.get(reason, 0) >= HELD]
    if held:
        at = (
            f" at {device.sm_clock} of {device.sm_clock_max} MHz"
            if device.sm_clock and device.sm_clock_max
            else ""
        )
        found.append(f"is held back by its hardware{at} while it computes ({', '.join(held)})")
    return found, compared + bool(device.throttled)
