"""The hardware slows a GPU down to protect it.

## What happens

`nvidia-smi -q` shows "HW Slowdown", "HW Thermal Slowdown", "HW Power Brake Slowdown" or "SW Thermal Slowdown" as
"Active" under "Clocks Event Reasons" (before driver 535: "Clocks Throttle Reasons"). The clock is half or less, and
training is slow without any error.

## Why

- The GPU or its memory is too hot: a blocked intake, a failed fan, a hot aisle.
- The server asks for less power (power brake): a power supply is lost, or its management controller limits it.
- A power cable does not deliver.

Under DDP all ranks wait for the slow one, up to a time-out.

## How to tell

Under load: `nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER -i GPU`, and `nvidia-smi dmon -s pucv` over time. "SW Power
Cap: Active" at full power and "Idle: Active" are normal. `gpudoctor check --deep` asks NVML before and after matrix products
for how long heat or the board's limits held the clocks down.

## See also

- [nvidia-smi](https://docs.nvidia.com/deploy/nvidia-smi/index.html): Clocks Event Reasons
- [gpud 330](https://github.com/leptonai/gpud/pull/330): a constant slowdown means the power supply or heat
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Sighting
from gpudoctor.facts import Gpus, Measurements, Pci

# Bits of NVML's clocks event reasons that mean protection; the others are idle, limits that were set, and the like.
BITS = {
    0x8: "HW Slowdown",
    0x20: "SW Thermal Slowdown",
    0x40: "HW Thermal Slowdown",
    0x80: "HW Power Brake Slowdown",
}
# The same in NVML's words, the gravest first; hw_slowdown stands beside its own reason, or alone in old drivers.
PROTECTING = {
    "hw_thermal_slowdown": "heat (HW Thermal Slowdown)",
    "hw_power_brake_slowdown": "the server asks for less power (HW Power Brake Slowdown)",
    "hw_slowdown": "heat or power (HW Slowdown)",
    "sw_thermal_slowdown": "heat (SW Thermal Slowdown)",
}
# nvmlPerfPolicyType_t; the power limit is left out: at full load it is the rule.
VIOLATIONS = {
    "thermal": "heat",
    "board_limit": "the board's limit",
    "reliability": "the limit for reliability",
}
OFTEN = 0.1
"""Of the time under load: less than a tenth does not show in a speed."""
REASON = r"(?P<reason>HW (?:Thermal |Power Brake )?Slowdown|SW Thermal Slowdown)"

check = Check(
    severity=Severity.WARNING,
    symptoms=[
        rf"{REASON}\s{{0,60}}: Active",
        rf"{REASON}(?! \().{{0,60}} (?:is|are) engaged",
        (
            r"clocks_(?:throttle|event)_reasons\.(?P<reason>hw_slowdown|hw_thermal_slowdown|hw_power_brake_slowdown|"
            r"sw_thermal_slowdown)\W{1,4}Active"
        ),
        r"clocks_(?:throttle|event)_reasons\.active\W{1,4}(?P<hex>0x[0-9a-fA-F]{1,16})\b",
        r"DCGM_FI_DEV_CLOCKS?_(?:THROTTLE|EVENT)_REASONS\{[^}]{0,400}\} (?P<mask>\d{1,5})\b",
        r"DCGM_FR_CLOCKS?_(?:EVENT|THROTTLE)_(?P<reason>THERMAL|POWER|HARDWARE)",
        r"[Dd]etected clocks? event due to (?P<reason>thermal|power) violation in GPU",  # DCGM
        r"[Cc]locks are being throttled due to (?P<reason>thermal|power)",
        r"hw slowdown events frequency per minute",
    ],
    fixes=[
        Fix(
            "See why, while it works",
            "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER && nvidia-smi dmon -s pucv -c 10",
        ),
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and what the command above shows",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix("Repair the cooling: fans, dust, air flow, the controller's fan profile", kind=Kind.ADMIN),
        Fix("Look for a lost power supply or a cap of the server", "sudo ipmitool sel list", Kind.ADMIN),
        Fix(
            "Give all GPUs of the job one lower limit, which costs speed but keeps them equal",
            "sudo nvidia-smi -pl WATTS",
            Kind.MITIGATION,
        ),
        Fix(
            "Leave this GPU out, which costs its share",
            "export CUDA_VISIBLE_DEVICES=GPU,GPU",
            Kind.MITIGATION,
        ),
    ],
    no_reproduction="needs a GPU that overheats",
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Name the reason; a mask without any of the bits that protect is none."""
    groups = sighting.groups
    reason = groups.get("reason", "")
    if "hex" in groups or "mask" in groups:
        mask = int(groups["hex"], 16) if "hex" in groups else int(groups["mask"])
        reason = ", ".join(name for bit, name in BITS.items() if mask & bit)
        if not reason:
            return
    words = f" ({reason})" if reason else ""
    yield check.found(f"the hardware slows a GPU down to protect it{words}: all ranks wait for the slowest")


@check.environment
def environment(gpus: Gpus, pci: Pci | None, measurements: Measurements | None) -> Iterator[Finding]:
    """NVML names a reason for low clocks that protects the GPU; power at its limit and idleness are none."""
    if measurements is not None:
        yield from _under_load(measurements)
    if gpus.silence(pci):
        raise CannotTell(gpus.silence(pci))
    if gpus.read and all(gpu.throttle_reasons is None for gpu in gpus.read):
        raise CannotTell("NVML does not tell why clocks are held down")
    held = {gpu.index: [r for r in PROTECTING if r in (gpu.throttle_reasons or ())] for gpu in gpus.read}
    slowed = [gpu for gpu in gpus.read if held[gpu.index]]
    if not slowed:
        return
    said = []
    for gpu in slowed:
        clock = (
            f", {gpu.sm_clock_mhz} of {gpu.sm_clock_max_mhz} MHz"
            if gpu.sm_clock_mhz and gpu.sm_clock_max_mhz
            else ""
        )
        heat = f", {gpu.temperature_celsius} °C" if gpu.temperature_celsius is not None else ""
        said.append(f"{gpu.short}: {', '.join(held[gpu.index])}{clock}{heat}")
    worst = next(reason for reason in PROTECTING if any(reason in held[gpu.index] for gpu in slowed))
    verb = "is" if len(slowed) == 1 else "are"
    message = f"{gpus.named(slowed)} {verb} slowed down to protect the hardware: {PROTECTING[worst]}; all ranks wait for the slowest"
    yield check.found(message, evidence=said)


def _under_load(measurements: Measurements) -> Iterator[Finding]:
    """Find GPUs whose clocks were held down while ``check --deep`` multiplied matrices."""
    for device in measurements.devices:
        held = {
            name: share for name, share in device.violations.items() if name in VIOLATIONS and share >= OFTEN
        }
        if held:
            worst = max(held, key=lambda name: held[name])
            heat = f", at {device.temperature_celsius} °C" if device.temperature_celsius is not None else ""
            message = (
                f"{device.place}: {VIOLATIONS[worst]} held its clocks down for {100 * held[worst]:.0f} % of the time while "
                f"matrices were multiplied{heat}; all ranks wait for the slowest"
            )
            yield check.found(message)
