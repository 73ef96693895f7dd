"""No NVIDIA driver is loaded, or none can be reached from here.

## What happens

`nvidia-smi` has failed "because it couldn't communicate with the NVIDIA driver", torch says "Found no NVIDIA driver on
your system", and NVML "Driver Not Loaded". `torch.cuda.is_available()` is False, `torchrun --nproc-per-node=gpu` says
"Cuda is not available.", and `torchrun --numa-binding=node` "No accelerator available for NUMA binding".

## Why

| where | why |
| --- | --- |
| on a machine | no driver is installed |
| | a kernel update came without its module: DKMS did not rebuild it, or Secure Boot refuses an unsigned one |
| | nouveau took the GPU (`nouveau-bound`) |
| | the virtual machine was given no GPU |
| on a cluster | this is a login node, or the job asked for no GPU |
| in a container | it was started without its GPUs (`container-without-gpus`), or the host has no NVIDIA Container Toolkit |

The driver belongs to the host, never to the image.

## How to tell

`cat /proc/driver/nvidia/version` fails where no module is loaded; `lspci -k -d 10de:` shows the GPU and which driver
holds it. `sudo dmesg | grep -iE 'nvrm|nvidia'` says why a module did not load. In a container `ls /dev/nvidia*` must
list nodes.

## See also

- [NVIDIA driver installation guide](https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/): the packages of each distribution
- [NVIDIA Container Toolkit](https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/): GPUs inside containers
"""

import re
from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Evidence, Finding, Fix, Kind, Severity, Sighting, Symptom, count
from gpudoctor.facts import Driver, Gpus, Host, Launch, Pci, PciDevice, Torch
from gpudoctor.wordings import A_FRAME

NVML_DRIVER_NOT_LOADED = 9
GOES_ON = re.compile(
    r"any nv files|[Uu]sing (?:the )?CPU|[Ff]all(?:ing|s)? back to (?:the )?CPU|kernel driver does not appear|no NVIDIA GPU device is present"
)

LOAD = Fix(
    "Load the driver's module, and see why it was not", "sudo modprobe nvidia && nvidia-smi", Kind.ADMIN
)
INSTALL = Fix(
    "Or install the driver, with nvidia-smi (on Ubuntu; elsewhere the distribution's package), then restart",
    "sudo apt install nvidia-driver-580-server nvidia-utils-580-server && sudo reboot",
    Kind.ADMIN,
)
CONTAINER = Fix("In a container: start it with its GPUs", "docker run --gpus all IMAGE")
SLURM = Fix(
    "On a cluster: ask for GPUs", "srun --gres=gpu:2 torchrun --standalone --nproc-per-node=2 train.py"
)
LEAVE_OUT = Fix(
    "On a cluster, where the job has GPUs: leave this node out, and send the administrators its name and this line",
    "sbatch --exclude=NODE job.sh",
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a note where the program goes on with the CPU, and where nothing shows that a GPU is meant; a warning of a text that names one",
    symptoms=[
        r"Found no NVIDIA driver on your system",
        # cut off above the message, in the source that raises it
        Symptom(r"^\s{0,80}http://www\.nvidia\.com/Down\S*$", near=r"in _check_driver\nhttp://www\.nvidia"),
        r"couldn't communicate with the NVIDIA driver",
        r"(NVML|nvml)\S{0,40}:? .{0,40}[Dd]river [Nn]ot [Ll]oaded",
        r"Unable to determine the device handle for .{0,60}: Driver Not Loaded",
        r"NVMLError_DriverNotLoaded|NVML_ERROR_DRIVER_NOT_LOADED",
        r"Could not find any nv files on this host",  # apptainer
        r"The NVIDIA Driver was not detected",  # banner of NVIDIA's containers
        r"(ImportError|OSError): libcuda\.so\.1: cannot open shared object file",
        r"nvidia-container-cli: initialization error(?!:? *$|: +(?:nvml error: +(?:driver/library version|unknown error)|cuda error|driver (?:rpc )?error: timed out))",
        r"modprobe: (ERROR|FATAL): .{0,20}([Mm]odule|could not insert) '?nvidia\b",
        r"ERROR: Unable to load the (?:kernel module 'nvidia\.ko'|'nvidia-drm' kernel module)",  # its installer
        r"DKMS module '?nvidia-[\d.]+'? failed to build|Consult /var/lib/dkms/nvidia\S{0,60}/make\.log|Building DKMS module 'nvidia-[\d.]+' for \S+ FAILED!",
        r"NVRM: No NVIDIA (GPU|graphics adapter|devices) (probed|found)",
        r"ValueError: (?P<count>Cuda is not available)\.",  # torchrun --nproc-per-node=gpu
        r"RuntimeError: (?P<binding>No accelerator available for NUMA binding)",  # torchrun --numa-binding=node
        r"MisconfigurationException: (?P<lightning>No supported gpu backend found|.?CUDAAccelerator.? can ?not run on your system)",
        r"NVMLError_LibraryNotFound|NVML_ERROR_LIBRARY_NOT_FOUND",
        # TensorFlow, which goes on with the CPU
        r"kernel driver does not appear to be running on this host|no NVIDIA GPU device is present: /dev/nvidia0 does not exist",
        r"Error: (?P<asked>You requested to find \d+ devices but there are no visible CUDA devices)",
        r"(?:Error|Exception): (?P<asked>GPUs requested but none are available|No available GPU device found|No GPU (?:or Intel XPU )?found\. A GPU)",
        r"JIT builder for '[^'\n]{1,80}' (?P<asked>found no CUDA devices)",
        Symptom(
            r"(?:^|: )nvidia-smi: (?:command )?not found\W{0,3}$|command not found: nvidia-smi\b|'nvidia-smi' is not recognized as|"
            r"The term 'nvidia-smi' is not recognized",
            unless=A_FRAME,
        ),
        Symptom(r"^\W{0,3}(?P<lightning>No supported gpu backend found)", unless=A_FRAME),
        # Chinese: "cannot find the driver"
        Symptom(
            r"\u627e\u4e0d\u5230 ?(?:[Nn][Vv][Ii][Dd][Ii][Aa]|\u82f1\u4f1f\u8fbe)? ?(?:\u663e\u5361)?\u9a71\u52a8",
            asked=True,
        ),
    ],
    follows=["torch-cpu-build", "nouveau-bound", "open-kernel-module"],
    fixes=[CONTAINER, SLURM, LEAVE_OUT, LOAD, INSTALL],
)


SEE = Fix(
    "See what is here: None is a torch for the CPU alone; GPUs in nvidia-smi and a count of 0 mean CUDA_VISIBLE_DEVICES",
    'python -c "import torch; print(torch.version.cuda, torch.cuda.device_count())"; nvidia-smi -L; '
    'echo "CUDA_VISIBLE_DEVICES=[$CUDA_VISIBLE_DEVICES]"',
)
PROCESSOR = Fix(
    "Without a GPU, for a test: say so",
    'trainer = Trainer(accelerator="cpu", devices=2, strategy="ddp")',
    Kind.EDIT,
)
NUMBER = Fix(
    "Without a GPU, for a test with gloo: say how many processes there shall be, and bind none to a NUMA node",
    "torchrun --standalone --nproc-per-node=2 train.py",
)

MEANT = {
    "count": "torchrun was to start one process per GPU",
    "binding": "torchrun was to bind each process to the NUMA node of its GPU",
    "lightning": "Lightning was to use GPUs",
    "asked": "the program was to use GPUs",
}


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """A program that says that it goes on without a GPU has not failed."""
    if groups := sighting.groups:
        meant = next(MEANT[name] for name in groups if name in MEANT)
        said = (
            f"{meant}, and torch sees none: no driver or no GPU is here, CUDA_VISIBLE_DEVICES hides it, or this torch "
            "is a CPU build"
        )
        yield check.found(said, fixes=[SEE, SLURM, CONTAINER, PROCESSOR if "lightning" in groups else NUMBER])
        return
    yield check.found(
        "no NVIDIA driver can be reached: it is not loaded, or this container was started without its GPUs",
        severity=Severity.NOTE if GOES_ON.search(sighting.line) else None,
    )


@check.environment
def environment(
    pci: Pci | None,
    driver: Driver | None,
    gpus: Gpus | None,
    torch: Torch | None,
    host: Host | None,
    launch: Launch | None,
) -> Iterator[Finding]:
    """NVIDIA hardware is here, and no driver for it."""
    if (gpus and (gpus.devices or gpus.driver_version)) or (torch and torch.cuda_available):
        return
    if pci is None:
        yield from _without_bus(driver, gpus, torch, host, launch)
        return
    cards = pci.usable
    if not cards:
        return
    if driver is None:
        raise CannotTell("whether the NVIDIA driver is loaded is not known")
    free = [card for card in cards if card.driver != "nouveau"]  # nouveau-bound tells of the others
    if free and not driver.loaded and not any(card.driver == "nvidia" for card in cards):
        yield _unlisted(cards) if driver.unlisted else _unloaded(cards, gpus, host)


def _unlisted(cards: list[PciDevice]) -> Finding:
    """Describe GPUs of which a text shows that they are there, and that no module of NVIDIA's is loaded."""
    here = f"{count(len(cards), 'NVIDIA GPU')} on the PCI bus"
    return check.found(
        f"{here}, and lsmod lists no module of NVIDIA's: CUDA sees no GPU",
        fixes=[LEAVE_OUT, LOAD, INSTALL],
    )


def _unloaded(cards: list[PciDevice], gpus: Gpus | None, host: Host | None) -> Finding:
    """Describe GPUs on the bus that no NVIDIA module drives."""
    here = f"{count(len(cards), 'NVIDIA GPU')} on the PCI bus"
    evidence = [
        Evidence(f"kernel driver: {card.driver or 'none'}", f"/sys/bus/pci/devices/{card.address}")
        for card in cards
    ]
    if gpus and gpus.error:
        evidence.append(Evidence(gpus.error, "NVML"))
    message = f"{here}, and no NVIDIA driver is loaded (no /proc/driver/nvidia/version): CUDA sees no GPU"
    fixes = [LEAVE_OUT, LOAD, INSTALL]
    if host and host.container:
        fixes = [
            Fix("Load the driver on the host, which a container uses", "sudo modprobe nvidia", Kind.ADMIN)
        ]
    return check.found(message, evidence=evidence, fixes=fixes)


def _without_bus(
    driver: Driver | None, gpus: Gpus | None, torch: Torch | None, host: Host | None, launch: Launch | None
) -> Iterator[Finding]:
    """Judge by what a pasted text says: it does not show the hardware."""
    if (driver and driver.loaded) or (host and host.system == "Darwin"):
        return
    if gpus and gpus.error_code == NVML_DRIVER_NOT_LOADED:
        yield check.found(f"NVML says: {gpus.error or 'Driver Not Loaded'}", fixes=[LOAD, INSTALL, CONTAINER])
        return
    if torch is not None and torch.seconds is not None and gpus is None:
        # A report of few checks: what torch says on every machine without a GPU shows nothing by itself.
        raise CannotTell("neither the PCI bus nor NVML was asked, so whether there is a GPU is not known")
    unusable = torch is not None and torch.cuda is not None and torch.cuda_available is False
    if torch is not None and unusable and gpus is None and (said := _said(torch)):
        yield check.found(
            f"torch is built for CUDA{f' {torch.cuda}' if torch.cuda else ''} and says: {said}",
            fixes=[CONTAINER, LOAD, INSTALL],
        )
        return
    if (
        torch is None
        or gpus is None
        or driver is None
        or not unusable
        or "too old" in " ".join(torch.warnings)
    ):
        raise CannotTell("the PCI bus was not read, so whether this machine has an NVIDIA GPU is not known")
    message = (
        f"torch is built for CUDA {torch.cuda} and finds no GPU, and neither a GPU nor a driver could be read"
    )
    hint = _expected(gpus, torch, launch)
    words = (
        f", where one is expected: {hint}" if hint else "; if this machine has a GPU, its driver is missing"
    )
    severity = Severity.WARNING if hint else Severity.NOTE
    yield check.found(message + words, severity=severity, fixes=[CONTAINER, LOAD, INSTALL])


def _expected(gpus: Gpus, torch: Torch, launch: Launch | None) -> str | None:
    """Say what shows that an NVIDIA GPU is meant to be here; a wheel for CUDA alone shows nothing."""
    variables = launch.variables if launch else {}
    for name in ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES"):
        if variables.get(name, "") not in ("", "-1", "void", "none", "NoDevFiles"):
            return f"{name}={variables[name]}"
    if "CUDA toolkit" in (gpus.error or ""):
        return gpus.error
    path = variables.get("LD_LIBRARY_PATH", "")
    if "cuda" in path or "nvidia" in path:
        return f"LD_LIBRARY_PATH={path}"
    return _said(torch)


def _said(torch: Torch) -> str | None:
    """Return torch's own words that there is no driver; it has asked the driver's library."""
    raised = [torch.cuda_error.message] if torch.cuda_error is not None else []
    return next((text for text in [*torch.warnings, *raised] if "Found no NVIDIA driver" in text), None)
