"""A running container lost its access to the GPUs.

## What happens

In a container that had its GPUs before, `nvidia-smi` says "Failed to initialize NVML: Unknown Error"; on the host it
works. What runs on a GPU already goes on; every new process fails: a restarted worker, a validation job, the next start
of the training.

## Why

The GPUs' device nodes were put into the container without systemd's knowledge. When systemd writes the container's
device rules again (`systemctl daemon-reload`, an update of the container's resources, Kubernetes' CPU manager), the GPUs
are not on its list, and access is denied. On a machine without containers the same words mean that the driver is
broken.

## How to tell

`cat /dev/nvidiactl` in the container says "Operation not permitted"; "Input/output error" is right. The host's journal
has "systemd: Reloading" just before.

## See also

- [nvidia-docker 1730](https://github.com/NVIDIA/nvidia-docker/issues/1730): NVIDIA's notice, with the remedies
- [nvidia-container-toolkit 1227](https://github.com/NVIDIA/nvidia-container-toolkit/issues/1227): from 1.18 on its runtime no longer loses them
"""

from collections.abc import Iterator

from gpudoctor import Check, Evidence, Finding, Fix, Kind, Severity
from gpudoctor.facts import Cuda, Driver, Gpus, Host

NVML_NO_PERMISSION, NVML_UNKNOWN = 4, 999

check = Check(
    severity=Severity.ERROR,
    words_stand=True,
    symptoms=[
        r"Failed to initialize NVML: (?P<error>Unknown Error)",
        r"failed to initialize (?:nvml|NVML):? (?P<error>unknown error)",
        r"NVMLError_Unknown\b",
        r"nvmlInit\w{0,8}(?:\(\))? failed: (?P<error>Unknown Error)",
        r"nvidia-container-cli: (?:detection|initialization) error: nvml error: (?P<error>unknown error)",
        r"/dev/nvidia(?:ctl|-uvm|\d+)['\"]?: (?P<error>Operation not permitted)",
    ],
    follows=["gpu-fell-off-bus"],
    message="the GPUs' device nodes can no longer be opened[ (<error>)]: new processes in this container find no GPU",
    fixes=[
        Fix(
            "Create the container again: this brings the GPUs back; what only this container holds is lost, so copy it first",
            "docker cp CONTAINER:FILE . && docker rm -f CONTAINER && docker run --gpus all IMAGE",
        ),
        Fix("Or the pod", "kubectl delete pod POD"),
        Fix(
            "Start it with the GPUs named by the container device interface, which systemd knows of",
            "docker run --device nvidia.com/gpu=all IMAGE",
        ),
        Fix(
            "Have the toolkit upgraded to 1.18 or newer: its runtime hands GPUs out by that interface without being asked",
            "sudo apt install nvidia-container-toolkit",
            Kind.ADMIN,
            source="https://github.com/NVIDIA/nvidia-container-toolkit/issues/1227",
        ),
        Fix(
            "On the host: make the links that systemd looks for, once and at every boot (udev rule)",
            "sudo nvidia-ctk system create-dev-char-symlinks --create-all",
            Kind.ADMIN,
        ),
        Fix(
            "Or let docker manage the rules itself: in /etc/docker/daemon.json, then restart docker",
            '{"exec-opts": ["native.cgroupdriver=cgroupfs"]}',
            Kind.ADMIN,
        ),
    ],
    no_reproduction="needs a container with a GPU",
)


@check.environment
def environment(host: Host, gpus: Gpus, driver: Driver | None, cuda: Cuda | None) -> Iterator[Finding]:
    """NVML is there and knows no reason in a container, and CUDA does not start either."""
    if not host.container or gpus.error_code not in (NVML_NO_PERMISSION, NVML_UNKNOWN):
        return
    if cuda is not None and cuda.init == 0:
        return
    if driver is not None and any(not node.usable and node.open_to_all is False for node in driver.nodes):
        return  # their mode keeps this user out, which is gpu-device-nodes
    # Without its GPUs a container has no NVML, or one that says "Driver Not Loaded".
    given = "the GPUs' nodes" if driver is not None and driver.nodes else "the driver's libraries"
    evidence = [Evidence(gpus.error or "Unknown Error", "NVML")]
    if cuda is not None and cuda.init:
        evidence.append(Evidence(f"cuInit gives error {cuda.init}", cuda.library))
    yield check.found(
        f"NVML says {gpus.error or 'Unknown Error'} in this container ({host.container}), which was given {given}: "
        "access to them was taken away, and no new process finds a GPU",
        evidence=evidence,
    )
