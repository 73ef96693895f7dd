"""The loaded kind of NVIDIA kernel module, open or closed, cannot run this GPU.

## What happens

`nvidia-smi` says "No devices were found" although the driver is loaded, and `torch.cuda.is_available()` is False. The
kernel log has "NVRM: The NVIDIA GPU 0000:01:00.0 … installed in this system requires use of the NVIDIA open kernel
modules", or the other way round "… is not supported by open nvidia.ko because it does not include the required GPU
System Processor (GSP)".

## Why

NVIDIA's driver comes with two kinds of kernel modules, of the same version:

| GPU | kind of module |
| --- | --- |
| Blackwell (RTX 50, RTX PRO 6000, B200), Grace Hopper | open only |
| Turing to Hopper (RTX 20 to 40, A100, L40, H100) | both; open is NVIDIA's choice from driver 560 on |
| Maxwell, Pascal, Volta (GTX 10, P100, V100) | closed only |

"No devices were found" without such a line in the kernel log has other reasons: the firmware of the machine gives the
GPU no address space ("This PCI I/O region assigned to your NVIDIA device is invalid": Above 4G Decoding is off), the
GPU's power cable, or a GPU that fails.

## How to tell

`cat /proc/driver/nvidia/version` has "Open Kernel Module" for the open kind; `modinfo -F license nvidia` says "Dual
MIT/GPL" for it and "NVIDIA" for the closed one. `sudo dmesg | grep -A3 NVRM` says why a GPU was not started.

## See also

- [Kernel modules](https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/kernel-modules.html): the open one needs Turing or newer
- [open-gpu-kernel-modules 696](https://github.com/NVIDIA/open-gpu-kernel-modules/issues/696): one of two GPUs too old
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Evidence, Finding, Fix, Kind, Severity, Sighting, count
from gpudoctor.facts import Driver, Gpus, KernelLog, Pci

LEAVE_OUT = Fix(
    "On a cluster: leave this node out, and send the administrators its name and this line",
    "sbatch --exclude=NODE job.sh",
)
LOOK = Fix(
    "See which kind is loaded and why the GPU was not started",
    "modinfo -F license nvidia; sudo dmesg | grep -A3 NVRM",
    Kind.ADMIN,
)
OPEN = Fix(
    "Install the open kind, of the same driver (on Ubuntu; elsewhere the package with 'open' in its name), and restart",
    "sudo apt install nvidia-driver-580-server-open && sudo reboot",
    Kind.ADMIN,
)
CLOSED = Fix(
    "Install the closed kind; 580 is the last driver for Maxwell, Pascal and Volta (on Ubuntu), and restart",
    "sudo apt install nvidia-driver-580-server && sudo reboot",
    Kind.ADMIN,
)
DECODING = Fix("Turn on Above 4G Decoding in the machine's firmware settings, and restart", kind=Kind.ADMIN)

WANTED = {
    "requires use of the NVIDIA open kernel modules": "open",
    "not supported by open": "closed",
    "is only ready for use on Data Center GPUs": "closed",
}
"""What the module writes into the kernel log, and the kind that the GPU needs."""

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"(?P<open>requires use of the NVIDIA open kernel modules)",
        r"(?P<closed>installed in this system is not supported by open)",
        r"(?P<closed>Open nvidia\.ko is only ready for use on Data Center GPUs)",
        r"NVRM: (?P<region>This PCI I/O region assigned to your NVIDIA device is invalid)",
        r"^\s*No devices were found\s*$",  # nvidia-smi
    ],
    follows=["gpu-fell-off-bus", "gpu-reset-required", "driver-library-mismatch"],
    fixes=[LEAVE_OUT, LOOK, OPEN, CLOSED, DECODING],
    no_reproduction="needs a GPU, and a kernel module that cannot run it",
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say which kind of module the GPU needs."""
    groups = sighting.groups
    if "open" in groups:
        message = "this GPU needs NVIDIA's open kernel module, and the closed one is installed"
        yield check.found(f"{message}: the driver does not start it", fixes=[LEAVE_OUT, OPEN])
    elif "closed" in groups:
        message = "this GPU needs NVIDIA's closed kernel module, and the open one is installed"
        yield check.found(f"{message}: the driver does not start it", fixes=[LEAVE_OUT, CLOSED])
    elif "region" in groups:
        message = "the machine's firmware gives the GPU no address space: the driver cannot start it"
        yield check.found(message, fixes=[LEAVE_OUT, DECODING])
    else:
        yield check.found(
            "nvidia-smi finds no GPU that the driver has started; the kernel log says why",
            fixes=[LOOK, LEAVE_OUT, OPEN, DECODING],
        )


@check.environment
def environment(pci: Pci, driver: Driver, gpus: Gpus, log: KernelLog | None) -> Iterator[Finding]:
    """GPUs are on the bus, the driver is loaded and has started none of them, and its kind may be why."""
    if not driver.loaded:
        yield from _not_started(pci, log)
        return
    if gpus.hanging or gpus.interrupted:
        raise CannotTell("NVML did not answer to the end")
    cards = [card for card in pci.usable if card.driver == "nvidia"]
    if not cards or gpus.devices or gpus.error is not None:
        return
    if not driver.unfit(cards, log):
        return  # gpu-missing
    kind = driver.kind
    message = (
        f"{count(len(cards), 'NVIDIA GPU')} on the PCI bus, the driver is loaded ({kind} kernel module), and it has started "
        "none: the other kind of module, the machine's firmware or the GPU itself is the reason"
    )
    yield check.found(message, fixes=[LOOK, LEAVE_OUT, CLOSED if kind == "open" else OPEN, DECODING])


def _not_started(pci: Pci, log: KernelLog | None) -> Iterator[Finding]:
    """A module that can run none of the GPUs leaves again, and has said why."""
    cards = [card for card in pci.usable if card.driver is None]
    said = next(
        (e.text for e in (log.of("nvrm") if log else []) if any(words in e.text for words in WANTED)), ""
    )
    if not cards or not said:
        return
    wanted = next(kind for words, kind in WANTED.items() if words in said)
    message = (
        f"{count(len(cards), 'NVIDIA GPU')} on the PCI bus, and the driver that was loaded runs none of them and is gone "
        f"again: by the kernel log {'it needs' if len(cards) == 1 else 'they need'} the {wanted} kind of kernel module"
    )
    fixes = [LEAVE_OUT, OPEN if wanted == "open" else CLOSED]
    yield check.found(message, evidence=[Evidence(said, "kernel log")], fixes=fixes)
