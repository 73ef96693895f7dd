"""The GPUs' device nodes are missing, or may not be opened.

## What happens

The driver is loaded, and CUDA finds no GPU all the same: "CUDA unknown error", "no CUDA-capable device is detected", or
"Failed to initialize NVML: Insufficient Permissions". `nvidia-smi` may work where the node for unified memory alone is
missing.

## Why

A process reaches the driver by files: `/dev/nvidiactl`, `/dev/nvidia-uvm` and one `/dev/nvidiaN` for each GPU. A setuid
program, `nvidia-modprobe`, makes them when the first program asks for them; udev rules and the persistence daemon do it
at boot. They are missing after a boot without either, in a container that was given some of them alone, and where
`/dev` was mounted again. They may not be opened where the driver's options or a udev rule keep them for a group. AMD's
`/dev/kfd` is always kept for one: `render`, and `video` on older systems.

## How to tell

`ls -l /dev/nvidia*` lists them: `crw-rw-rw-` is usual; `ls -l /dev/kfd` shows AMD's and its group. `id` shows the groups that you are in. In a container compare
with the host.

## See also

- [nvidia-modprobe](https://manpages.ubuntu.com/manpages/noble/man1/nvidia-modprobe.1.html): the program that makes them
- [NVIDIA Container Toolkit](https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/): which nodes a container is given
"""

from collections.abc import Iterator

from gpudoctor import (
    CannotTell,
    Check,
    Evidence,
    Finding,
    Fix,
    Kind,
    Severity,
    Sighting,
    Symptom,
    count,
    joined,
    listed,
)
from gpudoctor.facts import Cuda, Driver, Gpus, Host, Launch, Pci

CONTROL, UNIFIED = "/dev/nvidiactl", "/dev/nvidia-uvm"

MAKE = Fix(
    "Make the nodes that are missing (where nvidia-modprobe is setuid, as packages install it, without sudo)",
    "sudo nvidia-modprobe -c 0 -u",
    Kind.ADMIN,
)
ALWAYS = Fix("Have them made at every boot", "sudo systemctl enable --now nvidia-persistenced", Kind.ADMIN)
CONTAINER = Fix("In a container: start it with all of them", "docker run --gpus all IMAGE")
GROUP = Fix(
    "Join the group that owns the nodes (here video), and log in again",
    'sudo usermod --append --groups video "$USER"',
    Kind.ADMIN,
)
WHO = Fix("See who may open them", "ls -l /dev/nvidia*; id")
AMD_WHO = Fix("See which group may open it, and yours", "ls -l /dev/kfd /dev/dri/render*; id")
AMD_GROUP = Fix(
    "Join the groups that own AMD's nodes, and log in again",
    'sudo usermod --append --groups render,video "$USER"',
    Kind.ADMIN,
)
LEAVE_OUT = Fix(
    "On a cluster: leave this node out, and send the administrators its name and that output",
    "sbatch --exclude=NODE job.sh",
)

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        Symptom(
            r"cannot access '?(?P<node>/dev/nvidia(?:-uvm|ctl|\d{1,2}))'?: No such file",
            near=r" /dev/nvidia(?:-uvm|ctl|\d{1,2})\b|couldn't communicate|\bCUDA\b|\bNVML\b",
        ),
        r"Unable to open (?P<kfd>/dev/kfd) read-write: Permission denied",  # rocminfo
        r"\bopen (?P<kfd>/dev/kfd): permission denied",
        r"Failed to initialize NVML: (?P<nvml>Insufficient Permissions)",
    ],
    follows=["driver-not-loaded", "container-without-gpus"],
    fixes=[WHO, CONTAINER, LEAVE_OUT, MAKE, ALWAYS],
    no_reproduction="needs a GPU whose nodes were removed",
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say which node it is, and what is wrong with it."""
    if kfd := sighting.groups.get("kfd"):
        message = f"this user may not open {kfd}: ROCm cannot reach the GPUs"
        yield check.found(message, fixes=[AMD_WHO, AMD_GROUP])
        return
    if "nvml" in sighting.groups:
        yield check.found(
            "this user, or this container, may not open the nodes of the GPUs in /dev: NVML says Insufficient Permissions"
        )
        return
    yield check.found(f"{sighting.groups['node']} is missing: CUDA cannot reach the driver through it")


@check.environment
def environment(
    driver: Driver,
    cuda: Cuda | None,
    gpus: Gpus | None,
    pci: Pci | None,
    host: Host | None,
    launch: Launch | None,
) -> Iterator[Finding]:
    """CUDA does not start or misses GPUs, and a node that it needs is not there or not open to this user."""
    inside = host is not None and bool(host.container)
    unwanted = launch is not None and launch.wants_no_gpu and not driver.gpu_nodes
    if driver.dxg or not driver.loaded or unwanted:
        return
    if not driver.nodes and (inside or host is None or not (cuda and cuda.library)):
        return  # a container without any node was not given its GPUs, and another's ticket does not tell of nodes
    if cuda is not None and cuda.init == 0:
        # It starts: what is missing was made on the way, or is not needed here, unless GPUs are missing with it.
        yield from _some(driver, cuda, gpus, host)
        return
    if not ((gpus and gpus.devices) or (pci and pci.usable)):
        return
    if cuda is None or (cuda.init is None and cuda.library):
        raise CannotTell("whether CUDA starts is not known")
    yield from _out_of_reach(driver, cuda, inside)


def _out_of_reach(driver: Driver, cuda: Cuda, inside: bool) -> Iterator[Finding]:
    """Name the nodes without which CUDA cannot start: those that are missing, or else those that are closed."""
    nodes = {node.path: node for node in driver.nodes}
    missing = [path for path in (CONTROL, UNIFIED) if path not in nodes]
    cards = driver.gpu_nodes
    closed = [n for n in (*map(nodes.get, (CONTROL, UNIFIED)), *cards) if n and not n.usable]
    if not cards:
        missing.append("/dev/nvidia0")
    where = " in this container" if inside else ""
    if missing:
        code = f" (cuInit gives error {cuda.init})" if cuda.init else ""
        yield check.found(
            f"{joined(missing)} {'is' if len(missing) == 1 else 'are'} missing{where}: CUDA cannot reach the "
            f"driver{code}",
            evidence=[Evidence(f"there: {', '.join(sorted(nodes))}")],
            fixes=[CONTAINER, MAKE] if inside else [LEAVE_OUT, MAKE, ALWAYS],
        )
    elif closed:
        names = listed([node.path for node in closed], noun="node")
        yield check.found(
            f"this user may not read and write {names}: CUDA cannot reach the driver",
            fixes=[WHO, *([CONTAINER] if inside else []), GROUP],
        )


def _some(driver: Driver, cuda: Cuda, gpus: Gpus | None, host: Host | None) -> Iterator[Finding]:
    """Find GPUs that NVML lists and CUDA does not start, where there are nodes for those that start alone."""
    shown = len(gpus.devices) if gpus else 0
    cards = driver.gpu_nodes
    usable = [node for node in cards if node.usable]
    if not usable or cuda.count != len(usable) or len(usable) >= shown:
        return
    inside = host is not None and bool(host.container)
    lacking = count(shown - len(usable), "GPU")
    what = (
        f"has no node in /dev for {lacking}" if len(cards) < shown else f"may not open the nodes of {lacking}"
    )
    who = "this container" if inside else "the machine" if len(cards) < shown else "this user"
    yield check.found(
        f"{who} {what} of {shown}, and CUDA starts {cuda.count}: the others cannot be reached",
        evidence=[Evidence(f"there: {', '.join(sorted(node.path for node in cards))}")],
        fixes=[WHO, *([CONTAINER, MAKE] if inside else [LEAVE_OUT, MAKE, ALWAYS])],
    )
