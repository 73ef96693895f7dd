"""A GPU no longer answers on the PCIe bus.

## What happens

The kernel log has "Xid (PCI:0000:01:00): 79, GPU has fallen off the bus". `nvidia-smi` says "Unable to determine the
device handle for GPU0000:01:00.0: Unknown Error" or "GPU is lost". The job hangs or dies with "unspecified launch
failure", and the other ranks report a time-out or a closed connection.

## Why

Most likely first:

- power: a loose or shared cable, a supply at its limit, short peaks of the load;
- heat;
- a riser, retimer or slot with a bad contact, or a PCIe link that does not hold its generation;
- a failing card;
- firmware or driver, mostly after suspend or with an external GPU.

A reset, a hot unplug or a detached virtual device does it on purpose.

## How to tell

`sudo dmesg -T | grep -iE 'xid|fallen off|AER|pciehp'` shows it and what came before: an earlier Xid of the same address
is a hint to the reason. `lspci -d 10de:` shows `rev ff` for a GPU that does not answer. If it stops with the power
limit lowered, it is the power.

## See also

- [Xid catalogue](https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html): 79, restart the machine
- [GPU debug guidelines](https://docs.nvidia.com/deploy/gpu-debug-guidelines/index.html): what to collect for the vendor
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Gpus, KernelLog, Pci

ADDRESS = r"(?P<address>[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.\d)?)"
FALLEN = 79
GO_ON = Fix("Go on from the last checkpoint on the GPUs that are left", "export CUDA_VISIBLE_DEVICES=GPU,GPU")

check = Check(
    severity=Severity.ERROR,
    words_stand=True,
    otherwise="a warning where the GPU answers again",
    symptoms=[
        rf"\bXid \((?:PCI:)?{ADDRESS}\): 79\b",
        rf"NVRM: GPU (?:at )?{ADDRESS}:? .{{0,8}}has fallen off the bus",
        r"fallen off the bus",
        r"caused by previous Xid 79\b",
        r"\b(?:Xid|XID)(?: error)?:? 79\b(?!,? (?:\d|or|and) )",  # what people write
        r"XidCriticalError: Xid=79\b",
        r"DCGM_FI_DEV_XID_ERRORS\{[^}]{0,400}\} 79\b",
        r"GPU lost from the bus|\bNV_ERR_GPU_IS_LOST\b",
        rf"Unable to (?:determine|detect) the device handle for (?:GPU|gpu) ?(?:\d+: )?{ADDRESS}: (?:Unknown Error|GPU is lost)",
        r"Unable to (?:determine|detect) the device handle for (?:GPU|gpu) ?\d+: (?:Unknown Error|GPU is lost)",
        r"nvmlDeviceGetHandleBy\w{2,20}\(\): Unknown Error",  # nvdebugdump
        r"NVMLError_GpuIsLost|NVML_ERROR_GPU_IS_LOST|DCGM_ST_GPU_IS_LOST|\b(?:status|code|error): ?GPUIsLost\b",
        r"\bGPU is lost\b",
        r"\b(?P<address>[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.\d) .{0,40}NVIDIA Corporation.{0,120}\(rev ff\)",
    ],
    message="the GPU[ at <address>] no longer answers on the bus: every process on it is dead, and the others wait for it",
    fixes=[
        GO_ON,
        Fix(
            "On a cluster: leave this node out, and send the administrators its name and the line above",
            "sbatch --exclude=NODE job.sh",
        ),
        Fix(
            "Take the node out of service and shut it down",
            "sudo scontrol update nodename=NODE state=drain reason='Xid 79' && sudo shutdown -h now",
            Kind.ADMIN,
        ),
        Fix(
            "Then cut its power from another machine: a reboot alone may not bring the GPU back",
            "ipmitool -I lanplus -H NODE_BMC -U USER -a chassis power cycle",
            Kind.ADMIN,
        ),
        Fix("Reseat the card and its power cables, one cable for each connector", kind=Kind.ADMIN),
        Fix(
            "If the same card does it again, have it exchanged, with NVIDIA's report",
            "sudo nvidia-bug-report.sh",
            Kind.ADMIN,
        ),
        Fix(
            "Cap the peaks of the power, which costs speed; if it helps, the power supply is at fault",
            "sudo nvidia-smi -pl WATTS",
            Kind.MITIGATION,
        ),
    ],
    no_reproduction="needs a GPU that fails",
)


@check.environment
def environment(gpus: Gpus | None, log: KernelLog | None, pci: Pci | None) -> Iterator[Finding]:
    """NVML calls a GPU lost or gives no handle of it, or the kernel log has Xid 79."""
    asked = gpus is not None
    gpus = gpus or Gpus()
    gone = [gpu for gpu in gpus.devices if gpu.gone]
    fixes = [fix for fix in check.fixes if fix is not GO_ON]
    if gone:
        rest = gpus.without(gone)
        if rest:
            left = Fix(
                "Go on from the last checkpoint on the GPUs that are left",
                f"export CUDA_VISIBLE_DEVICES={rest}",
            )
            fixes = [left, *fixes]
        said = [f"{gpu.short}: {gpu.errors[0] if gpu.errors else 'no handle'}" for gpu in gone]
        many = len(gone) > 1
        answers = "do not answer any more" if many else "does not answer any more"
        message = (
            f"{gpus.named(gone)} of {len(gpus.devices)} {answers}: every process on {'them' if many else 'it'} is dead, and "
            "the others wait for it"
        )
        yield check.found(message, evidence=said, fixes=fixes)
        return
    if unstarted := [gpu for gpu in gpus.devices if gpu.unstarted]:
        message = (
            f"the driver counts {gpus.named(unstarted)} and finds nothing behind the number: it could not start the card, or "
            "the card has left the bus"
        )
        yield check.found(
            message, evidence=[f"{g.short}: {e}" for g in unstarted for e in g.errors[:1]], fixes=fixes
        )
        return
    if log is not None and (fallen := [event for event in log.of("xid") if event.code == FALLEN]):
        answering = {gpu.pci_address for gpu in gpus.read}
        for event in fallen:
            back = event.pci_address != "" and any(a.startswith(event.pci_address) for a in answering)
            now = "; it answers again now" if back else ", and NVML does not show it" if asked else ""
            message = f"the GPU at {event.pci_address or 'an unknown address'} fell off the bus (Xid 79){now}"
            severity = Severity.WARNING if back else Severity.ERROR
            yield check.found(message, severity=severity, evidence=[event.text], fixes=fixes)
    elif not asked:
        raise CannotTell("what NVML says of the GPUs is not known")
    elif gpus.silence(pci):
        raise CannotTell(gpus.silence(pci))
