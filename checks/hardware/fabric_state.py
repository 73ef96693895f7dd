"""A GPU has not joined the NVLink fabric, or the fabric is not healthy.

## What happens

`nvidia-smi -q` shows, under "Fabric", "State : In Progress" instead of "Completed", a "Status" other than "Success", or
a health other than "Healthy". CUDA fails with error 802, or peer traffic goes over PCIe without an error.

## Why

From H100 on, the GPUs of an NVSwitch system register with the fabric manager. It is not running, is of another version
than the driver, was started again without a reset of the GPUs, or the partition of this virtual machine was not
activated. Across nodes there may be another reason: the IMEX service or its channel is missing (`imex-down`).

## How to tell

`nvidia-smi -q | grep -A12 Fabric` for every GPU; "N/A" and "Not Supported" are right for PCIe cards.
`systemctl status nvidia-fabricmanager nvidia-imex` and `/var/log/fabricmanager.log` say what is missing;
`nvidia-imex-ctl -N` shows the nodes of a fabric that spans several.

## See also

- [Fabric manager](https://docs.nvidia.com/datacenter/tesla/fabric-manager-user-guide/index.html): what it sets up, and its service
- [gpu-driver-container 909](https://github.com/NVIDIA/gpu-driver-container/pull/909): a reset clears a stale state
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Symptom, joined
from gpudoctor.facts import Gpus, Pci

BLOCK = r"(?:^|\n)\s*Fabric\s*\n"

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where no GPU has joined, or the fabric is only slower",
    words_stand=True,
    symptoms=[
        Symptom(r"\bState\s{1,60}: (?P<state>In Progress|Not Started)\s*$", near=BLOCK),
        Symptom(
            r"\bStatus\s{1,60}: (?P<state>Insufficient Resources|Unknown Error|[A-Z]\w+ (?:Error|Failure))",
            near=BLOCK + r"\s*State\s{1,60}: Completed",
        ),
        Symptom(r"\bSummary\s{1,60}: (?P<state>Unhealthy|Limited Capacity)", near=BLOCK),
        Symptom(r"\bBandwidth\s{1,60}: (?P<state>Degraded)", near=BLOCK),
        r"(?P<state>Route Recovery in progress|Route Unhealthy|Access Timeout Recovery)\s{1,60}: True",
        r"[Ff]abric state is (?P<state>not healthy|unhealthy)",
        r"MNNVL busId .{0,100} state (?P<number>[12]) healthMask",
        r"FABRIC handle type configured but device (?P<gpu>\d+) does not support fabric access",
        r"All ranks using fabric handles must be in the same NVLink domain",
    ],
    message="the NVLink fabric is not ready[ (<state>)][ (state <number> instead of 3)][ for GPU <gpu>]: peer traffic "
    "fails or is slow",
    follows=["fabric-manager-down"],
    fixes=[
        Fix("See the state of every GPU", "nvidia-smi -q | grep -A12 Fabric"),
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and that output",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "Start the fabric manager of the driver's own version again, then reset all GPUs, with nothing running",
            "sudo systemctl restart nvidia-fabricmanager && sudo nvidia-smi --gpu-reset",
            Kind.ADMIN,
        ),
        Fix(
            "Do without NVLink between nodes, which costs its bandwidth",
            "export NCCL_MNNVL_ENABLE=0",
            Kind.MITIGATION,
        ),
    ],
    no_reproduction="needs an NVSwitch system whose fabric is not ready",
)

SERIOUS = ("incorrect_configuration", "route_unhealthy")
WORDS = {
    "degraded_bandwidth": "its bandwidth is degraded",
    "route_recovery": "a route is being recovered",
    "route_unhealthy": "a route is not healthy",
    "access_timeout_recovery": "it recovers from an access time-out",
    "incorrect_configuration": "its configuration is incorrect",
}


@check.environment
def environment(gpus: Gpus, pci: Pci | None) -> Iterator[Finding]:
    """A GPU has not joined the fabric that the others have, or joined with an error, or its fabric is not healthy."""
    if gpus.error and not gpus.devices:
        if pci is not None and not pci.usable:
            return  # there is no GPU
        raise CannotTell(gpus.error)
    if gpus.fabric_waits:
        return  # none has: that is the fabric manager
    for gpu in gpus.devices:
        if gpu.fabric_state in ("not_started", "in_progress"):
            state = gpu.fabric_state.replace("_", " ")
            others = any(other.fabric_state == "completed" for other in gpus.devices)
            rest = "while others have joined it" if others else "and this GPU's NVLinks may not be in use"
            message = f"{gpu.place} has not joined the NVLink fabric (state: {state}), {rest}"
            yield check.found(message, severity=None if others else Severity.WARNING)
        elif gpu.fabric_state == "completed" and gpu.fabric_status:
            message = f"{gpu.place} could not join the NVLink fabric: registration ended with NVML error {gpu.fabric_status}"
            yield check.found(message)
        elif gpu.fabric_health:
            told = joined(WORDS.get(bit, bit.replace("_", " ")) for bit in gpu.fabric_health)
            serious = any(bit in SERIOUS for bit in gpu.fabric_health)
            message = f"{gpu.place}: the NVLink fabric is not healthy: {told}"
            yield check.found(message, severity=None if serious else Severity.WARNING)
