"""Shared memory (/dev/shm) is too small for the launch.

## What happens

A DataLoader worker dies of a "Bus error", or raises "unable to allocate shared memory(shm)" or "unable to write to
file … No space left on device". NCCL says "Error while creating shared memory segment", or "unhandled system error".

## Why

DataLoader workers hand their batches over in `/dev/shm`: workers x prefetch_factor x the size of a batch, for every
rank of the machine. NCCL puts a segment of 9.6 MB there for each connection between two GPUs that cannot reach each
other directly. Docker and Kubernetes give a container 64 MiB of it; a machine has half of its memory.

## How to tell

`df -h /dev/shm` shows size and use while the job runs. A file system that is large and full holds what dead jobs left
behind (`ls -l /dev/shm`). The same words with "Too many open files" are another failure.

## See also

- [NCCL: memory issues](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/runtime_and_mpi_issues.html): shared memory, `--shm-size`, systemd
- [Docker image of PyTorch](https://github.com/pytorch/pytorch#docker-image): `--ipc=host` or `--shm-size`
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Sighting, Symptom, byte_size
from gpudoctor.facts import Gpus, Host, Launch

MIB = 1 << 20
DOCKER_DEFAULT = 64 * MIB
# NCCL's user guide asks for docker run --shm-size=1g; a batch of 64 float images of 224 x 224 is 37 MiB.
ENOUGH = 1024 * MIB
# nccl#290, nccl#525: "(size 9637888)". A ring needs at least one each way in each of two channels per rank.
NCCL_SEGMENT = 9_637_888
SEGMENTS_PER_RANK = 4

DOCKER = Fix("In docker or podman: ask for more", "docker run --shm-size=8g IMAGE")
IPC = Fix("Or share the host's", "docker run --ipc=host IMAGE")
KUBERNETES = Fix(
    "In Kubernetes: mount memory at /dev/shm, in the pod's specification",
    "volumes: [{name: shm, emptyDir: {medium: Memory, sizeLimit: 8Gi}}]\n"
    "volumeMounts: [{name: shm, mountPath: /dev/shm}]",
    Kind.ADMIN,
)
MACHINE = Fix(
    "On a machine of your own, until its next start", "sudo mount -o remount,size=8G /dev/shm", Kind.ADMIN
)
SEE = Fix(
    "See whether it is mounted read-only, and who may write there",
    "grep /dev/shm /proc/mounts; ls -ld /dev/shm",
)
OPEN = Fix(
    "Make it writable for all, as it is everywhere", "sudo mount -o remount,rw,mode=1777 /dev/shm", Kind.ADMIN
)
COUNT = Fix("See what lies there, and remove what no process uses any more", "df -i /dev/shm; ls -l /dev/shm")
LOOK = Fix(
    "See how much room is there, and what lies there while the ranks start", "df -h /dev/shm; ls -l /dev/shm"
)
FULL = Fix("See what fills it, and remove what no process uses any more", "ls -lS /dev/shm | head")
NOT_CUMEM = Fix(
    "From NCCL 2.26.3 on, where there is room: have all ranks share through /dev/shm; left alone, each of them tries CUDA's "
    "own way, and one may fail at it",
    "export NCCL_CUMEM_HOST_ENABLE=0",
    Kind.MITIGATION,
    source="https://github.com/NVIDIA/nccl/issues/2190",
)
NO_SHM = Fix(
    "Do without shared memory, which is slower: NCCL then sends between the ranks of a machine over the network",
    "export NCCL_SHM_DISABLE=1",
    Kind.MITIGATION,
)
NO_WORKERS = Fix(
    "Load data in the training process: no shared memory, and no loading beside the training",
    "DataLoader(..., num_workers=0)",
    Kind.MITIGATION,
)

NEARLY = 256 << 20
"""Room that a few workers' batches take."""
FEW_FILES = 64
"""One rank with two loader workers had up to 20 at once (torch 2.15, statvfs), which bear no names."""

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where it is small, and not too small",
    symptoms=[
        r"insufficient shared memory \(shm\)",
        r"dataloader's workers are out of shared memory",
        r"DataLoader worker .{0,40}killed by signal: Bus error",
        r"unable to allocate shared memory ?\(shm\) for file <(?P<file>[^>]*)>",
        r"unable to (write to|resize) file </torch_\w+>(?![^\n]{0,60}: File too large)",  # by a limit
        r"unable to open shared memory object <[^>]*> in read-write mode(?!.{0,4}(Too many|No such))",
        r"Error while (creating|opening) shared memory segment (?P<segment>\S+) \(size (?P<size>\d+)\)",
        # what another rank should have made there; NCCL writes a name of rubbish where the two took different ways
        r"Error while attaching to shared memory segment (?P<attached>/dev/shm/\S{1,80})",
        r"NCCL WARN .{0,20}(posix_fallocate|ftruncate|shm_open).{0,20}No space left on device",
        r"No space left on device: '/dev/shm",
        r"failed to create shared memory file (?P<segment>\S{1,80}), error:? No space left on device",
        r"\bBus error\b.{0,4}\(core dumped\)",
        r"failed to extend /dev/shm/\S+ to (?P<size>\d+) bytes",
        r"SemLock\(.{0,40}\[Errno 28\]",
        # joblib tries to make a semaphore
        r"\[Errno 28\] No space left on device\. +joblib will operate in serial mode",
        Symptom(
            r"\[Errno 28\] No space left on device$",
            near=r"ctx\.Lock\(|_rlock|multiprocessing[/\\]synchronize\.py|[/\\]pandarallel[/\\]",
        ),
    ],
    follows=["too-many-open-files"],
    fixes=[DOCKER, IPC, KUBERNETES, MACHINE, NO_WORKERS],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Tell what could not be made there from what another rank was to make there."""
    groups = sighting.groups
    if "attached" in groups:
        message = (
            f"a rank found nothing at {groups['attached']}, where another one was to share its memory with it: that one "
            "could not make it, runs in a container with another /dev/shm, or shares memory in another way"
        )
        yield check.found(message, fixes=[LOOK, IPC, DOCKER, NOT_CUMEM, NO_SHM])
        return
    place = f" for the segment {groups['segment']}" if "segment" in groups else ""
    place += f" for {groups['file']}" if "file" in groups else ""
    size = f", {groups['size']} bytes" if "size" in groups else ""
    yield check.found(f"/dev/shm had no room{place}{size}: data loaders and NCCL put what they share there")


@check.environment
def environment(host: Host, gpus: Gpus | None, launch: Launch | None) -> Iterator[Finding]:
    """The file system at /dev/shm is what a container gets by default, or too full for this launch."""
    if host.system not in ("", "Linux"):
        return
    if host.shm_missing:
        message = "there is no /dev/shm: NCCL, DataLoader workers and every lock of multiprocessing fail"
        yield check.found(message, fixes=[SEE, *_fixes(host.container)])
        return
    if host.shm_bytes is None:
        raise CannotTell("the size of /dev/shm is not known, or nothing is mounted there")
    if host.shm_writable is False or host.shm_inodes_free == 0:
        yield _closed(host)
        return
    count = len(gpus.devices) if gpus else 0
    ranks = max(count, (launch.number("LOCAL_WORLD_SIZE") if launch else None) or 0)
    size, free = host.shm_bytes, host.shm_free_bytes
    text = f"/dev/shm is {byte_size(size)}" + (
        f", {byte_size(free)} of it free" if free is not None and free != size else ""
    )
    if host.shm_inodes_free is not None and host.shm_inodes_free < FEW_FILES:
        message = (
            f"/dev/shm takes {host.shm_inodes_free} more files (inodes), however much room it has: each batch that a DataLoader "
            "worker hands over is a file, and so is each segment of NCCL"
        )
        yield check.found(message, fixes=[COUNT, *_fixes(host.container)])
        return
    need = ranks * SEGMENTS_PER_RANK * NCCL_SEGMENT
    if count > 1 and free is not None and free < need:
        message = (
            f"{text}: NCCL may need {byte_size(need)} for {ranks} ranks, and DataLoader workers use it too"
        )
        yield check.found(message, fixes=_fixes(host.container))
    elif free is not None and (free < DOCKER_DEFAULT < size or free < min(NEARLY, size // 5)):
        message = f"{text}: DataLoader workers pass batches through it and may die of SIGBUS"
        yield check.found(message, severity=Severity.WARNING, fixes=[FULL, *_fixes(host.container)])
    elif size <= DOCKER_DEFAULT:
        message = (
            f"{text}, a container's default: DataLoader workers pass batches through it and may die of SIGBUS"
        )
        yield check.found(message, severity=Severity.WARNING, fixes=_fixes(host.container))
    elif size < ENOUGH and ranks > 1:
        message = f"{text}: the DataLoader workers of {ranks} ranks share it, and NCCL's guide asks for 1 GiB"
        yield check.found(message, severity=Severity.WARNING, fixes=_fixes(host.container))


def _closed(host: Host) -> Finding:
    """Say why nothing can be made in /dev/shm, whatever its size."""
    rest = "NCCL, DataLoader workers and every lock of multiprocessing fail"
    if host.shm_writable is False:
        message = f"this process may not make files in /dev/shm: {rest}"
        return check.found(message, fixes=[SEE, OPEN, *_fixes(host.container)])
    message = f"/dev/shm takes no more files (no inode is left), however much room it has: {rest}"
    return check.found(message, fixes=[COUNT, *_fixes(host.container)])


def _fixes(container: str | None) -> list[Fix]:
    """Return the fixes for this kind of container; where none was recognised, those of a machine come first."""
    if container == "kubernetes":
        return [KUBERNETES, NO_WORKERS]
    if container in ("docker", "podman"):
        run = [Fix(fix.summary, fix.command.replace("docker", container)) for fix in (DOCKER, IPC)]
        return [*run, NO_WORKERS]
    return [MACHINE, NO_WORKERS] if container is None else [MACHINE, DOCKER, IPC, NO_WORKERS]
