"""The GPU's firmware (GSP) stopped answering the driver.

## What happens

The kernel log has Xid 119 or 120, "Timeout after 6s of waiting for RPC response from GPU0 GSP!"
(older drivers: "Timeout waiting for RPC from GSP!"). `nvidia-smi` and CUDA
hang for minutes or say "Unknown Error" for that GPU; jobs on it never end.

## Why

On Turing and newer most of the driver runs on the GPU's System Processor (GSP). Its firmware had faults in several
drivers (510 and 525 among them), and hardware trouble shows in the same way: another Xid before it is the cause.

## How to tell

`sudo dmesg -T | grep -iE 'xid|gsp'` shows the first Xid. `nvidia-smi -q | grep -i 'gsp firmware'` shows whether it is in
use. If one GPU alone does it with every driver, it is that GPU.

## See also

- [open-gpu-kernel-modules 446](https://github.com/NVIDIA/open-gpu-kernel-modules/issues/446): many reports, and what NVIDIA's support advised
- [Azure's health check](https://github.com/Azure/azurehpc/pull/714): nodes whose GPU tests hung with driver 510
- [Xid catalogue](https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html): 119 and 120, reset the GPU
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Sighting, joined
from gpudoctor.facts import Driver, Gpus, KernelLog

SILENT = (119, 120)
UNSTARTED = ("annot initialize GSP", "failed to wait for GFW_BOOT")
"""What the driver says where it never came to run."""

check = Check(
    severity=Severity.WARNING,
    otherwise="an error where the driver could not start it, or the kernel log has its Xid and NVML does not say that it is over",
    symptoms=[
        r"\bCannot initialize (?P<firmware>GSP) firmware RM",
        r"failed to wait for (?P<firmware>GFW)_BOOT",
        r"loading \S{0,80}/(?P<firmware>gsp_\w{1,20}\.bin) failed with error",
        # with its Xid in the same line it is gpu-xid
        r"^(?!.*\bXid \().*\bTimeout (?:waiting for RPC|after \d+s of waiting for RPC response) from (?:GPU\d+ )?GSP\b",
        r"\b_kgsp(?:IsHeartbeatTimedOut: Heartbeat timed out|LogRpcTimeout: \*+ GSP Timeout)",
    ],
    follows=["gpu-fell-off-bus", "gpu-reset-required", "gpu-xid"],
    fixes=[
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and the line above",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "Reset the GPU, or reboot where that hangs too", "sudo nvidia-smi --gpu-reset -i GPU", Kind.ADMIN
        ),
        Fix("Install a newer driver of the same branch", kind=Kind.ADMIN),
    ],
    no_reproduction="needs a GPU that fails",
)
WITHOUT = Fix(
    "Run the driver without it, with the closed kernel module only, and restart",
    "echo 'options nvidia NVreg_EnableGpuFirmware=0' | sudo tee /etc/modprobe.d/nvidia-gsp.conf && "
    "sudo update-initramfs -u && sudo reboot",
    Kind.MITIGATION,
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """The driver could not start the firmware, so it cannot use the GPU, or it got no answer."""
    firmware = sighting.groups.get("firmware")
    if firmware is None:
        yield check.found("the GPU's firmware (GSP) stopped answering the driver: what runs there hangs")
        return
    message = f"the driver could not start the GPU's firmware ({firmware}): it cannot use that GPU"
    yield check.found(message, severity=Severity.ERROR)


@check.environment
def environment(gpus: Gpus | None, log: KernelLog | None, driver: Driver | None) -> Iterator[Finding]:
    """The kernel log has Xid 119 or 120, or the driver's own words for a firmware that does not answer."""
    if log is None:
        if gpus is None or any(gpu.gsp_firmware for gpu in gpus.read):
            raise CannotTell("the kernel log, where its Xid 119 would stand, could not be read")
        return
    events = [event for event in log.of("xid") if event.code in SILENT] or log.of("gsp")
    if not events:
        return
    named = [event.pci_address for event in events if event.pci_address]
    where = joined(dict.fromkeys(named or ["an unknown address"]))
    code = f" (Xid {events[0].code})" if events[0].code else ""
    on = gpus is None or any(gpu.gsp_firmware is not False for gpu in gpus.devices)
    closed = driver is not None and driver.loaded and "Open Kernel Module" not in driver.description
    unstarted = [event for event in events if any(words in event.text for words in UNSTARTED)]
    if unstarted and len(unstarted) == len(events):
        on_it = f" of the GPU at {joined(dict.fromkeys(named))}" if named else ""
        message = f"the driver could not start the firmware{on_it} (GSP): it cannot use that GPU"
        evidence = [event.text for event in events]
        yield check.found(message, severity=Severity.ERROR, evidence=evidence, fixes=check.fixes)
        return
    message = f"the firmware of the GPU at {where} stopped answering the driver{code}: what runs there hangs"
    fixes = [*check.fixes, *([WITHOUT] if on and closed else [])]
    severity = Severity.ERROR if events[0].code and not _over(named, gpus) else None
    evidence = [event.text for event in events]
    yield check.found(message, severity=severity, evidence=evidence, fixes=fixes)


def _over(addresses: list[str], gpus: Gpus | None) -> bool:
    """Return whether NVML says of each of these GPUs that no recovery is wanted any more."""
    here = [gpu for gpu in gpus.devices if gpu.pci_address in addresses] if gpus is not None else []
    return bool(here) and all(gpu.recovery_action == "none" and not gpu.errors for gpu in here)
