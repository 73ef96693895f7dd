"""Dead processes left segments in /dev/shm.

## What happens

Nothing fails at first. `/dev/shm` holds `nccl-*` and `torch_*` files that no process uses, and they take up memory until
the machine restarts or somebody deletes them. One day the rest is too small: `shm-too-small`.

## Why

NCCL and torch's DataLoader put what processes of one machine share into files there, and delete them when they are done.
A process that is killed (out of memory, `kill -9`, a scheduler's end) deletes nothing. Such a file counts as used memory,
of the machine or of the container.

## How to tell

`ls -l /dev/shm` shows them with owner and time, `fuser -v /dev/shm/*` who uses one. A file that a running training has
mapped is none of these.

## See also

- [NCCL: memory issues](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting/runtime_and_mpi_issues.html): what NCCL puts into shared memory
- [Sharing strategies](https://docs.pytorch.org/docs/stable/multiprocessing.html#sharing-strategies): what torch puts there, and how it leaks
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Severity, byte_size, count, listed
from gpudoctor.facts import Host, Processes

LOOK = Fix("See whose they are, and that nobody uses them", "ls -l /dev/shm; fuser -v /dev/shm/*")
# A segment of NCCL's has 9.6 MB; what is less than that, and less than a hundredth of the whole, is no harm.
WORTH = 1 << 20
SHARE = 100

check = Check(
    severity=Severity.WARNING,
    otherwise="a note where they are small",
    fixes=[
        LOOK,
        Fix(
            "Delete your own, while none of your trainings runs",
            "find /dev/shm -maxdepth 1 -user $(id -u) -name 'nccl-*' -delete; "
            "find /dev/shm -maxdepth 1 -user $(id -u) -name 'torch_*' -delete",
        ),
    ],
)


@check.environment
def environment(processes: Processes, host: Host | None) -> Iterator[Finding]:
    """Segments of NCCL or torch lie in /dev/shm, and no process has one open."""
    left = [segment for segment in processes.segments if segment.bytes]  # an empty one holds a name alone
    if not left:
        return
    size = sum(segment.bytes for segment in left)
    whole = host.shm_bytes if host else None
    names = listed([segment.name for segment in left])
    message = f"{count(len(left), 'segment')} in /dev/shm ({names}), {byte_size(size)}"
    message += f" of {byte_size(whole)}" if whole else ""
    message += ", and no process uses them: a training that was killed left them, and they hold memory"
    matters = size >= WORTH or (whole is not None and size * SHARE >= whole)
    yield check.found(message, severity=Severity.WARNING if matters else Severity.NOTE)
