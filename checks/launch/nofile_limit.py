"""The limit on open files is too low for training.

## What happens

Nothing, until the files run out: `too-many-open-files`, "received 0 items of ancdata", or a rank that cannot connect.

## Why

Each tensor that a DataLoader worker hands over is an open file, and so is each connection of NCCL, gloo and the store,
and each library and data file. Linux starts a process with 1024 (soft), which a program may raise to the hard limit by
itself. Where somebody lowered it, or with hundreds of ranks and many workers, files run out.

## How to tell

`ulimit -n` is the limit, `ulimit -Hn` how far you may raise it; `ls /proc/PID/fd | wc -l` counts while it runs.

## See also

- [Sharing strategies](https://docs.pytorch.org/docs/stable/multiprocessing.html#sharing-strategies): why tensors are open files
- [NCCL: runtime issues](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/runtime_and_mpi_issues.html): how many files NCCL opens at scale
- [getrlimit(2)](https://man7.org/linux/man-pages/man2/getrlimit.2.html): RLIMIT_NOFILE
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Gpus, Host, Launch

# Every Linux starts processes with 1024 (include/asm-generic/resource.h: INR_OPEN_CUR). Python with torch, a DataLoader
# and a process group on one machine was seen with 100 to 250.
DEFAULT = 1024
TOO_FEW = 256
# gloo and the store connect every rank with every other; two of each leave room for nothing else.
FILES_PER_RANK = 4
# Of what all processes may have open together; where gpud, too, begins to warn.
NEARLY_ALL = 0.8

RAISE = Fix(
    "Raise the limit, in the shell or the job script that starts the training",
    "ulimit -n $(ulimit -Hn)",
    proof="ulimit -n $(ulimit -Hn)",
)
DOCKER = Fix("In docker: start the container with more", "docker run --ulimit nofile=65536:65536 IMAGE")
RUNTIME = Fix(
    "In Kubernetes no pod can ask for more: ask the administrators for a higher LimitNOFILE of the node's containerd",
    kind=Kind.ADMIN,
)
LIMITS = Fix(
    "Raise it for all of a user's logins",
    "echo '* - nofile 65536' | sudo tee /etc/security/limits.d/90-nofile.conf  # after the next login",
    Kind.ADMIN,
)

WHOSE = Fix("See how many are open, and how many may be", "cat /proc/sys/fs/file-nr")
MACHINE = Fix("Raise what the machine allows", "sudo sysctl fs.file-max=10000000", Kind.ADMIN)

check = Check(
    severity=Severity.WARNING,
    otherwise="an error below 256, a note for 8 GPUs where 1024 cannot be raised",
    fixes=[RAISE, DOCKER, LIMITS],
)


@check.environment
def environment(host: Host, launch: Launch | None, gpus: Gpus | None) -> Iterator[Finding]:
    """Fewer files may be open than a training needs."""
    if host.system not in ("", "Linux"):
        return  # macOS starts with 256, and torch there has no such use for files
    yield from _of_all(host)
    limit = host.limits.get("nofile")
    if limit is None:
        raise CannotTell("the limit on open files (ulimit -n) is not known")
    soft = limit.soft
    if soft is None:
        return
    world = (launch.number("WORLD_SIZE") if launch else None) or 1
    hard = f" (it may be raised to {limit.hard})" if limit.hard is not None and limit.hard > soft else ""
    front = f"a process may have {soft} files open{hard}"
    fixes = _fixes(host)
    if soft < TOO_FEW:
        message = f"{front}: torch, its data loaders and connections between ranks need more to start at all"
        yield check.found(message, severity=Severity.ERROR, fixes=fixes)
    elif soft < DEFAULT:
        message = f"{front}, and {DEFAULT} is usual: data loaders and connections between ranks use them up"
        yield check.found(message, fixes=fixes)
    elif soft < world * FILES_PER_RANK:
        message = f"{front}, and connections between {world} ranks alone may take {world * FILES_PER_RANK}"
        yield check.found(message, fixes=fixes)
    elif soft <= DEFAULT and hard == "" and gpus is not None and len(gpus.devices) >= 8:
        message = (
            f"{front}: with many data loader workers, each tensor of which is an open file, that is little"
        )
        yield check.found(message, severity=Severity.NOTE, fixes=fixes)


def _of_all(host: Host) -> Iterator[Finding]:
    """The processes of this machine together have nearly as many files open as they may."""
    now, most = host.files_open, host.files_max
    if now is None or not most or now < NEARLY_ALL * most:
        return
    message = (
        f"all processes of this machine together have {now} files open, and may have {most} (fs.file-max): beyond that "
        "every open fails with 'Too many open files in system'"
    )
    yield check.found(message, fixes=[WHOSE, MACHINE])


def _fixes(host: Host) -> list[Fix]:
    limit = host.limits["nofile"]
    raisable = limit.hard is None or (limit.soft or 0) < limit.hard
    if host.container == "kubernetes":
        return [RAISE] * raisable + [RUNTIME]
    if host.container in ("docker", "podman"):
        return [RAISE] * raisable + [DOCKER]
    return [RAISE] * raisable + [LIMITS]
