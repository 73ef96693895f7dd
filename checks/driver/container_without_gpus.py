"""A container was started without the GPUs that its host has.

## What happens

The host has GPUs and a driver, and in the container there is no `/dev/nvidia*`: `nvidia-smi` is not found or finds no
driver, and `torch.cuda.is_available()` is False. A script that falls back to the CPU trains many times slower and says
nothing.

## Why

A container sees the host's PCI bus and the host's kernel module, and none of the GPUs' device nodes and driver libraries
unless it is told to: `--gpus all` for Docker, a device of the container device interface for Podman, `--nv` for
Apptainer, a limit `nvidia.com/gpu` for Kubernetes. Docker Compose needs it in the file of each service.

## How to tell

`ls /dev/nvidia*` in the container lists nothing, while `ls /proc/driver/nvidia/gpus` or `lspci -d 10de:` shows GPUs.
(Where all work that is done in this container is the CPU's, nothing is wrong.)

## See also

- [NVIDIA Container Toolkit](https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/): GPUs inside containers
"""

import re
from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, count
from gpudoctor.facts import ContainerStart, Driver, Gpus, Host, Launch, Pci, Torch

NVML_UNKNOWN = 999
BY_NAME = re.compile(
    r"(?:\d{1,2}|GPU-[\w-]{8,40}|MIG-[\w/-]{8,60})(?:,(?:\d{1,2}|GPU-[\w-]{8,40}|MIG-[\w/-]{8,60}))*"
)
check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where nothing asks for GPUs, a note where a torch for the CPU or NVIDIA_VISIBLE_DEVICES says that none are wanted",
    fixes=[Fix("Start the container with its GPUs", "docker run --gpus all IMAGE")],
    no_reproduction="needs a container on a host with a GPU",
)


@check.environment
def environment(
    host: Host | None,
    driver: Driver | None,
    pci: Pci | None,
    gpus: Gpus | None,
    torch: Torch | None,
    launch: Launch | None,
    start: ContainerStart | None,
) -> Iterator[Finding]:
    """The host's driver and GPUs show through, and no device node was handed on."""
    if start is not None and not start.gpus and (missing := _missing(start, torch)):
        yield _not_handed_on(start, missing)
        return
    if host is None or driver is None:
        raise CannotTell("neither the container nor its device nodes could be seen")
    if start is not None and start.gpus:
        return
    unwanted = launch is not None and launch.wants_no_gpu
    # With NVIDIA_VISIBLE_DEVICES=none the driver's own nodes are there, and none of a GPU.
    nodes = driver.gpu_nodes if unwanted else driver.nodes
    if not host.container or driver.dxg or nodes or (gpus and gpus.devices):
        return
    if gpus is not None and gpus.error_code == NVML_UNKNOWN:
        return  # it had them: container-lost-gpu
    if torch is not None and torch.cuda_available:
        return
    if pci is None and not driver.loaded:
        raise CannotTell("neither the PCI bus nor a driver could be seen")
    cards = [card for card in pci.usable if card.driver == "nvidia"] if pci else []
    if not cards and not driver.loaded:
        yield from _asked(host, pci, torch, launch)
        return
    version = driver.version or driver.module_version
    there = count(len(cards), "NVIDIA GPU") if cards else "an NVIDIA GPU"
    with_driver = f" with driver {version}" if version else ""
    message = (
        f"the host has {there}{with_driver}, and this container ({host.container}) has no {'node of a GPU' if unwanted else '/dev/nvidia* node'}: it was started "
        "without its GPUs"
    )
    severity = Severity.NOTE if unwanted else _severity(torch, launch.variables if launch else {})
    yield check.found(message, severity=severity, fixes=[_start(host.container)])


def _asked(host: Host, pci: Pci | None, torch: Torch | None, launch: Launch | None) -> Iterator[Finding]:
    """Find a container that names its GPUs, and into which neither a GPU nor a driver shows through."""
    asked = launch.variables.get("NVIDIA_VISIBLE_DEVICES", "") if launch else ""
    # "all" stands in images of NVIDIA's; numbers and UUIDs come from who starts the container.
    if pci is None or pci.amd or not BY_NAME.fullmatch(asked) or (torch is not None and torch.hip):
        return
    severity = (
        Severity.NOTE if torch is not None and torch.imported and torch.cuda is None else Severity.WARNING
    )
    message = (
        f"NVIDIA_VISIBLE_DEVICES={asked} asks for GPUs, and this container ({host.container}) sees neither a GPU nor a driver: "
        "it runs on a node without GPUs, or a runtime started it that does not know the variable"
    )
    yield check.found(message, severity=severity, fixes=[_start(host.container)])


def _missing(start: ContainerStart, torch: Torch | None) -> str:
    """Return what shows that a program in the container found no GPU; empty: nothing does."""
    if start.missing or torch is None or torch.cuda is None or torch.cuda_available is not False:
        return start.missing
    return "torch finds no GPU there"


def _not_handed_on(start: ContainerStart, missing: str) -> Finding:
    """Describe a container whose command line hands on no GPU."""
    option = "--nv" if start.engine in ("apptainer", "singularity") else "--gpus"
    if start.engine == "podman":
        option = "--device nvidia.com/gpu=all"
    message = (
        f"`{start.engine} {start.verb}` is called without {option}, and inside: {missing}. A container gets no GPU that is "
        "not handed to it"
    )
    return check.found(message, severity=Severity.WARNING, fixes=[_start(start.engine)])


def _severity(torch: Torch | None, variables: dict[str, str]) -> Severity:
    """Return how much it matters: who took a torch without CUDA does not miss them."""
    if torch is not None and torch.imported and torch.cuda is None:
        return Severity.NOTE
    wanted = ("CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "LOCAL_RANK", "SLURM_GPUS_ON_NODE")
    return Severity.ERROR if any(variables.get(name) for name in wanted) else Severity.WARNING


def _start(container: str | None) -> Fix:
    """Return how a container of that engine is started with its GPUs."""
    if container == "kubernetes":
        limit = "resources: {limits: {nvidia.com/gpu: 1}}"
        return Fix("Ask for GPUs in the pod's specification", limit, Kind.EDIT)
    command = "docker run --gpus all IMAGE"
    if container == "podman":
        command = "podman run --device nvidia.com/gpu=all IMAGE"
    elif container in ("apptainer", "singularity"):
        command = f"{container} exec --nv IMAGE torchrun --standalone --nproc-per-node=2 train.py"
    return Fix("Start the container with its GPUs", command)
