"""CUDA cannot start, although a driver is there.

## What happens

torch says "CUDA unknown error - this may be due to an incorrectly set up environment", or "Unexpected error from
cudaGetDeviceCount() … Error 804: forward compatibility was attempted on non supported HW"; TensorFlow and JAX say
"failed call to cuInit". `nvidia-smi` works all the same. No GPU can be used, and nothing has run yet.

## Why

The code that CUDA gives narrows it down:

| code | most likely |
| --- | --- |
| 999, 30 "unknown error" | `nvidia_uvm` did not come back after sleep; `/dev/nvidia-uvm` is missing (a container, a fresh boot); CUDA_VISIBLE_DEVICES was changed after CUDA had started; a GPU hangs (look for an Xid) |
| 3 "initialization error" | a child that was forked after CUDA had started (`cuda-fork`); a limit of virtual memory (`ulimit -v`) |
| 34 "stub library" | a `stubs` folder of a CUDA toolkit comes first on LD_LIBRARY_PATH |
| 804 "forward compatibility" | a `compat` folder comes first on LD_LIBRARY_PATH, and this GPU does not support it |
| 805, 806, 807 | the MPS daemon is dead or belongs to another user |
| 100, 101 | no GPU, or not the one that was named, in this process |

## How to tell

`python -c "import ctypes; print(ctypes.CDLL('libcuda.so.1').cuInit(0))"` prints the error code without torch, 0 where
all is well. Then `echo $LD_LIBRARY_PATH; ldconfig -p | grep libcuda`, `ls -l /dev/nvidia*` and
`sudo dmesg -T | grep -iE 'xid|nvrm' | tail`.

## See also

- [pytorch 49081](https://github.com/pytorch/pytorch/issues/49081): the unknown error, and `nvidia_uvm` loaded again
- [CUDA errors](https://docs.nvidia.com/cuda/cuda-runtime-api/cuda_runtime_api/group__CUDART__TYPES.html): every code
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Evidence, Finding, Fix, Kind, Severity, Sighting, Symptom, count
from gpudoctor.facts import Cuda, Driver, Gpus, Host, Launch, Pci, Torch
from gpudoctor.wordings import A_FRAME, CUDA_START

# A child of a process that had started CUDA gets error 3 as well: cuda-fork.
FORKED = r"re-initialize CUDA in forked|DataLoader worker|ForkingPickler|popen_fork|multiprocessing[/\\](?:process|pool)"
HIDDEN = r"CUDA_VISIBLE_DEVICES"
START = r"_cuda_init\(\)|_lazy_init\(\)|_cuda_getDeviceCount"

UVM = Fix(
    "After a sleep: load the module for unified memory again, with nothing running on the GPUs",
    "sudo modprobe -r nvidia_uvm && sudo modprobe nvidia_uvm",
    Kind.ADMIN,
)
NODES = Fix("Make the device nodes that are missing", "sudo nvidia-modprobe -c 0 -u", Kind.ADMIN)
LIBRARIES = Fix(
    "Take stubs and compatibility libraries off the path, and start the training again",
    "unset LD_LIBRARY_PATH",
)
LEAVE_OUT = Fix(
    "On a cluster: leave this node out, and send the administrators its name and the code",
    "sbatch --exclude=NODE job.sh",
)
EARLY = Fix(
    "Set CUDA_VISIBLE_DEVICES before torch is imported",
    'import os\n\nos.environ["CUDA_VISIBLE_DEVICES"] = "0,1"\n\nimport torch',
    Kind.EDIT,
)
MPS = Fix(
    "Do without MPS, or start its daemon as the same user",
    "echo quit | nvidia-cuda-mps-control; unset CUDA_MPS_PIPE_DIRECTORY CUDA_MPS_LOG_DIRECTORY",
)
REBOOT = Fix("Restart the machine", "sudo reboot", Kind.ADMIN)
CAPABILITIES = Fix(
    "Start the container with the libraries for computing, too",
    "docker run --gpus all --env=NVIDIA_DRIVER_CAPABILITIES=compute,utility IMAGE",
)
PACKAGE = Fix(
    "Install the driver's own libraries, of the loaded module's version (on Ubuntu, here for 580)",
    "sudo apt install libnvidia-compute-580-server",
    Kind.ADMIN,
)
SEE = Fix(
    "See what the driver says of it",
    "ls -l /dev/nvidia*; sudo dmesg -T | grep -iE 'xid|nvrm' | tail",
    Kind.ADMIN,
)
INSTANCES = Fix(
    "See whether MIG mode is on without any instance: CUDA then has no device",
    "nvidia-smi -L; nvidia-smi --query-gpu=index,mig.mode.current --format=csv",
)
NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE
CODES = {
    1: ("CUDA_ERROR_INVALID_VALUE", "the library and the driver do not understand each other"),
    2: (
        "CUDA_ERROR_OUT_OF_MEMORY",
        "it found no memory, of the host or of a GPU: see who holds it, and ulimit -v",
    ),
    3: (
        "CUDA_ERROR_NOT_INITIALIZED",
        "it could not start: a limit of virtual memory (ulimit -v), or a GPU in a bad state",
    ),
    34: ("CUDA_ERROR_STUB_LIBRARY", "a CUDA toolkit's stub was loaded in the place of the driver's library"),
    36: ("CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER", "the driver is older than the call"),
    46: ("CUDA_ERROR_DEVICE_UNAVAILABLE", "the GPUs are taken or may not be used: see their compute mode"),
    NO_DEVICE: (
        "CUDA_ERROR_NO_DEVICE",
        "it can start none of the GPUs: nodes that are missing, GPUs that are lost, or MIG without instances",
    ),
    101: ("CUDA_ERROR_INVALID_DEVICE", "a GPU that it was to start is none, or is in a bad state"),
    102: ("CUDA_ERROR_DEVICE_NOT_LICENSED", "a virtual GPU has no licence"),
    214: ("CUDA_ERROR_ECC_UNCORRECTABLE", "a GPU has an uncorrectable memory error"),
    304: (
        "CUDA_ERROR_OPERATING_SYSTEM",
        "a call to the operating system failed: access to the nodes, or a limit",
    ),
    800: (
        "CUDA_ERROR_NOT_PERMITTED",
        "it is not permitted: access to the nodes, or another user's MPS daemon",
    ),
    801: ("CUDA_ERROR_NOT_SUPPORTED", "the driver does not support these GPUs in this mode"),
    802: (
        "CUDA_ERROR_SYSTEM_NOT_READY",
        "the system is not ready: the fabric manager, or confidential computing",
    ),
    803: (
        "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH",
        "the driver's library and its loaded module are of different versions",
    ),
    805: ("CUDA_ERROR_MPS_CONNECTION_FAILED", "the MPS daemon cannot be reached"),
    806: ("CUDA_ERROR_MPS_RPC_FAILURE", "the MPS daemon failed"),
    807: ("CUDA_ERROR_MPS_SERVER_NOT_READY", "the MPS server does not take new clients"),
    808: ("CUDA_ERROR_MPS_MAX_CLIENTS_REACHED", "the MPS server has as many clients as it can have"),
    999: (
        "CUDA_ERROR_UNKNOWN",
        "nvidia_uvm did not come back after sleep, a node is missing, or a GPU hangs",
    ),
    804: (
        "CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
        "the library is that of a newer driver, a compat folder's, and this GPU supports no forward compatibility",
    ),
}
"""CUresult: its name in cuda.h, and what it most likely means at this place."""
WITHOUT_DRIVER = (3, NO_DEVICE, 999)
"""What a library gives where there is no driver, and mostly no GPU."""

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where no code of CUDA's is told, and where TensorFlow or JAX says so: they go on without GPUs",
    symptoms=[
        r"unknown error ?- ?this may be due to an incorrectly set ?up environment",
        r"CUDA driver initialization failed, you might not have a CUDA gpu",
        Symptom(
            r"Unexpected error from cudaGetDeviceCount\(\).{0,200}Error (?P<code>3|34|36|304|80[0145679]|8[1-9]\d|999): "
            r"(?P<text>\S.{0,80})",
            unless=FORKED,
        ),
        Symptom(
            r"Unexpected error from cudaGetDeviceCount\(\).{0,200}Error (?P<code>10[01]): (?P<text>\S.{0,60})",
            unless=HIDDEN,
        ),
        r"cuda runtime error \((?P<code>30|999)\) : (?P<text>unknown error)",
        r"cuda runtime error \((?P<code>30|999)\)(?! ?:)",
        r"THCudaCheck FAIL .{0,200}error=(?P<code>30|999) : (?P<text>unknown error)",
        r"(?P<text>forward compatibility was attempted on non supported HW)|CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE",
        r"(?P<text>CUDA driver is a stub library)|CUDA_ERROR_STUB_LIBRARY",
        r"cuInit\b.{0,40}(?P<text>CUDA_ERROR_(?:UNKNOWN|NOT_INITIALIZED|OPERATING_SYSTEM|NOT_PERMITTED)|unknown error)",
        r"\bcuInit\(0?\)(?: returned |=)(?P<code>3|34|304|804|805|999)\b",
        Symptom(r"\[(?P<code>3|34|304|80[0145679]|999)\] Call to cuInit results in", unless=FORKED),  # numba
        # where nvidia-smi has an answer all the same
        Symptom(
            r"cuInit\b.{0,40}(?P<text>CUDA_ERROR_NO_DEVICE)", near=r"\bNVIDIA-SMI \d{3}\.", unless=HIDDEN
        ),
        Symptom(rf"{CUDA_START}(?P<code>3|30|34|36|304|80[0145679]|999)\b", unless=FORKED),
        # deviceQuery and people's own programs
        Symptom(
            r"cudaGetDeviceCount\b(?:\(\))?.{0,20}?(?:returned|failed with|error)[\w :=]{1,12}?\b"
            r"(?P<code>3|30|34|36|304|80[0145679]|999)\b",
            unless=FORKED,
        ),
        (
            r"(?P<text>MPS client failed to connect to the MPS \w+|between the MPS server and the MPS client failed|"
            r"MPS server is not ready to accept new MPS client|MPS client has been terminated by the server|"
            r"resources required to (?:create MPS client|support device connections) have been exhausted)"
        ),
        r"(?P<text>CUDA_ERROR_MPS_\w+)",
        r"nvidia-container-cli: initialization error: cuda error: (?P<text>[a-z][a-z -]{3,60}[a-z])",
        Symptom(r"Cuda failure (?:3 )?'(?P<text>initialization error)", unless=FORKED),
        Symptom(r"CUDA error: (?P<text>initialization error)", unless=FORKED),
        Symptom(r"CUDA error: (?P<text>unknown error)", near=START),
        Symptom(r"\b(?P<text>cudaErrorInitializationError)\b", unless=FORKED),
        Symptom(
            r"cudaGetDeviceCount\b(?:\(\))?.{0,20}?(?:returned|failed with|error)[\w :=]{1,12}?\b(?P<code>38|100)\b",
            unless=HIDDEN,
        ),
        Symptom(r"(?:RuntimeError|AcceleratorError): CUDA error: (?P<text>unknown error)", unless=A_FRAME),
        r"\bcudaErrorUnknown\b|\bCUDA_ERROR_NOT_INITIALIZED\b",
        r"(?:RuntimeError|AcceleratorError): CUDA error: (?P<text>driver shutting down)",
    ],
    follows=[
        "container-lost-gpu",
        "container-without-gpus",
        "cuda-driver-too-old",
        "cuda-stub-library",
        "cuda-visible-devices",
        "driver-library-mismatch",
        "driver-not-loaded",
        "fabric-manager-down",
        "fabric-state",
        "gpu-busy",
        "gpu-confidential-mode",
        "gpu-device-nodes",
        "gpu-fell-off-bus",
        "gpu-missing",
        "gpu-reset-required",
        "open-kernel-module",
        "wsl-gpu-mode",
    ],
    fixes=[LIBRARIES, EARLY, LEAVE_OUT, UVM, NODES, REBOOT],
    no_reproduction="needs a GPU whose driver does not start",
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say what the driver answered, and put first what helps against that."""
    code, text = sighting.groups.get("code", ""), sighting.groups.get("text", "").strip(" .")
    if "CUDA unknown error" in sighting.line and not code:
        code, text = "999", "unknown error"
    said = " ".join(part for part in (f"error {code}" if code else "", f'"{text}"' if text else "") if part)
    fixes = [EARLY, LIBRARIES, LEAVE_OUT, UVM, NODES, REBOOT]
    if code in ("34", "804") or "stub" in text or "forward" in text:
        fixes = [LIBRARIES, REBOOT]
    elif code in ("805", "806", "807") or "MPS" in text or "device connections" in text:
        fixes = [MPS, REBOOT]
    words = f"CUDA could not start{f' ({said})' if said else ''}: no GPU can be used in this process"
    goes_on = sighting.line.startswith(
        "failed call to cuInit"
    )  # TensorFlow's and XLA's words; neither raises anything
    yield check.found(words, severity=Severity.WARNING if goes_on else None, fixes=fixes)


@check.environment
def environment(
    cuda: Cuda | None,
    gpus: Gpus | None,
    driver: Driver | None,
    pci: Pci | None,
    torch: Torch | None,
    host: Host | None,
    launch: Launch | None,
) -> Iterator[Finding]:
    """The driver library does not start, or there is no libcuda, where a driver and GPUs are."""
    here = len(gpus.devices) if gpus else 0
    if cuda is None:
        yield from _untold(gpus, torch, launch)
        return
    if cuda.library is None and cuda.init is None:
        if cuda.error is None:
            raise CannotTell("the CUDA driver library was not asked")
        if here and driver is not None and driver.loaded and _wanted(torch):
            inside = host is not None and bool(host.container)
            why = "this container was given the driver's tools alone" if inside else "it is not installed"
            yield check.found(
                f"NVML shows {count(here, 'GPU')}, and libcuda.so.1 cannot be loaded: {why}, and CUDA sees no GPU",
                evidence=[Evidence(cuda.error)],
                fixes=[CAPABILITIES] if inside else [PACKAGE],
            )
        return
    if cuda.interrupted and cuda.init is None and not cuda.interrupted.startswith("no answer"):
        yield check.found(
            f"{cuda.stage or 'cuInit'} ended the process that called it ({cuda.interrupted}): CUDA cannot start",
            evidence=[Evidence(cuda.library or "libcuda.so.1")],
            fixes=[LIBRARIES, SEE, REBOOT],
        )
    elif _failed(cuda, launch, gpus) and (here or (pci and pci.usable) or _driven(cuda, driver)):
        name, why = CODES.get(cuda.init or 0, ("", "the kernel log may say why"))
        yield check.found(
            f"cuInit gives error {cuda.init}{f' ({name})' if name else ''}: {why}; no GPU can be used",
            evidence=[Evidence(cuda.library)] if cuda.library else [],
            fixes=_fixes(cuda.init or 0, gpus),
        )
    elif broken := [device for device in cuda.devices if device.error] if cuda.init == 0 else []:
        code = broken[0].error or 0
        name, why = CODES.get(code, ("", "the kernel log may say why"))
        those = (
            f"device{'' if len(broken) == 1 else 's'} {', '.join(str(device.ordinal) for device in broken)}"
        )
        yield check.found(
            f"CUDA counts {count(len(cuda.devices), 'GPU')}, and {those} {'gives' if len(broken) == 1 else 'give'} error "
            f"{code}{f' ({name})' if name else ''}: {why}; no program can use {'it' if len(broken) == 1 else 'them'}",
            fixes=_fixes(code, gpus),
        )


def _failed(cuda: Cuda, launch: Launch | None, gpus: Gpus | None) -> bool:
    """Return whether cuInit gave an error; where another check says why, this is what follows from it."""
    if cuda.init == NO_DEVICE and launch is not None:
        visible = launch.variables.get("CUDA_VISIBLE_DEVICES")
        hidden = visible is not None and gpus is not None and gpus.read and not gpus.chosen(visible)
        # An instance is named where no GPU is divided.
        hidden = hidden or (
            gpus is not None and "MIG-" in (visible or "") and all(gpu.mig is False for gpu in gpus.read)
        )
        if launch.wants_no_gpu or hidden:
            return False  # a container that was asked to have none; a list that names none, as cuda-visible-devices says
    return cuda.init not in (None, 0)


def _driven(cuda: Cuda, driver: Driver | None) -> bool:
    """Return whether a driver is there, by what is known of it, or where nothing is (a ticket) by what CUDA gives."""
    if driver is None and cuda.library is None:
        return cuda.init != NO_DEVICE
    return (driver is not None and driver.loaded) or cuda.init not in WITHOUT_DRIVER


def _untold(gpus: Gpus | None, torch: Torch | None, launch: Launch | None) -> Iterator[Finding]:
    """Judge by torch and NVML alone, as a ticket has them: GPUs are here, and torch finds none."""
    if torch is None or torch.cuda_available is not False or gpus is None or not gpus.read:
        raise CannotTell("the CUDA driver library was not asked")
    hidden = launch is not None and "CUDA_VISIBLE_DEVICES" in launch.variables
    if torch.cuda is None or hidden or any(gpu.mig or gpu.errors for gpu in gpus.devices):
        return
    driver = f" with driver {gpus.driver_version}" if gpus.driver_version else ""
    why = "" if driver else ": the driver may be too old, whose version is not known"
    yield check.found(
        f"torch is built for CUDA {torch.cuda} and finds no GPU, and NVML shows {count(len(gpus.read), 'GPU')}{driver}: "
        f"CUDA does not start, and why is not told{why}",
        severity=Severity.WARNING if driver else Severity.NOTE,
        fixes=[LEAVE_OUT, SEE, NODES, REBOOT],
    )


def _wanted(torch: Torch | None) -> bool:
    """Return whether a torch for CUDA is here, which misses the library."""
    return torch is None or torch.imported is not True or torch.cuda is not None


def _fixes(code: int, gpus: Gpus | None) -> list[Fix]:
    if code in (805, 806, 807, 808):
        return [MPS, REBOOT]
    if code == 100 and gpus is not None and any(gpu.mig for gpu in gpus.devices):
        return [INSTANCES, SEE, NODES, REBOOT]
    if code == 999:
        return [UVM, NODES, SEE, LEAVE_OUT, REBOOT]
    return [SEE, NODES, LEAVE_OUT, REBOOT]
