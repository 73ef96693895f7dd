"""Processes are stuck in the kernel, or dead and not collected.

## What happens

`kill -9` does nothing. The GPU memory, the port and the files of the process stay taken, `nvidia-smi` may hang, and the
next launch finds them so. Or `ps` shows ranks as `<defunct>`.

## Why

- State D: the process waits inside the kernel, for a driver whose GPU does not answer (look for an Xid) or for a network
  disk that is gone. No signal reaches it. When what it waits for comes back it goes on; if not, only a restart helps.
- State Z: the process has ended, and its parent has not asked how. It holds nothing but its number, unless threads of it
  still are in state D. In a container whose first process does not collect children (a shell, or the script itself)
  every rank that was killed stays so.

## How to tell

`ps -eo pid,ppid,stat,wchan:32,args | awk '$3 ~ /^[DZ]/'`, twice: a process that reads from a disk is in D for a moment.
`sudo cat /proc/PID/stack` shows where it waits: names with nv are the driver, with nfs or rpc the disk.

## See also

- [docker run --init](https://docs.docker.com/reference/cli/docker/container/run/): a first process that collects children
- [proc_pid_stat(5)](https://man.archlinux.org/man/proc_pid_stat.5.txt): states of processes
"""

import re
from collections import Counter
from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Evidence, Finding, Fix, Kind, Severity, Symptom, listed
from gpudoctor.facts import Host, KernelLog, Process, Processes, ProcessRows

SEVERAL = 4
PASTED = "the text"
# Processes of a training and of the driver, as the kernel names them in "task python:4711 blocked for more than 120 seconds".
OURS = re.compile(r"python[\d.]*|pt_\w+|torchrun|ray::.*|nvidia.*|nv[_-].*")
DAY = 24 * 3600
LOOK = Fix("See what they wait for", "ps -eo pid,ppid,stat,wchan:32,lstart,args | awk '$3 ~ /^[DZ]/'")
DRIVER = Fix("See whether a GPU or a disk does not answer", "sudo dmesg -T | tail -50", Kind.ADMIN)
DRAIN = Fix(
    "If nothing brings it back: take the node out of service, and restart it when its jobs have ended",
    'sudo scontrol update nodename=NODE state=drain reason="processes stuck in D"',
    Kind.ADMIN,
)
OTHER = Fix("Meanwhile, train on other nodes", "sbatch --exclude=NODE job.sh")
INIT = Fix("In docker: start a first process that collects the dead", "docker run --init IMAGE")

check = Check(
    severity=Severity.WARNING,
    otherwise="a note for dead processes that something may still collect",
    symptoms=[
        Symptom(
            r"\bzombie process(?:es)?\b|\b(?:became|becomes?|turned into|are) (?:a )?zombies?\b",
            near=r"\bnvidia-smi\b|\bGPU memory\b|\btraining process|\bDataLoader\b",
            unless=r"\b(?:no|without any) zombie|nvtop|htop",
            asked=True,
        ),
    ],
    message="a process has ended and is still there: what it held, GPU memory and ports too, may stay taken",
    machine=True,
    follows=["gpu-fell-off-bus", "storage-stalled"],
    fixes=[LOOK, OTHER, INIT, DRIVER, DRAIN],
    no_reproduction="needs a device that does not answer",
)


@check.environment
def environment(
    processes: Processes | None, rows: ProcessRows | None, host: Host | None, kernel_log: KernelLog | None
) -> Iterator[Finding]:
    """Python or NVIDIA's processes did not move between two looks, or the kernel says so; or they are dead and there."""
    if processes is None:
        yield from _of_text(rows, kernel_log, host)
        return
    if processes.stuck:
        stuck = processes.stuck
        where = sorted({p.waits_in for p in stuck if p.waits_in})
        message = (
            f"{_named(stuck)} {'waits' if len(stuck) == 1 else 'wait'} inside the kernel (state D"
            f"{', in ' + ', '.join(where[:3]) if where else ''}) and cannot be killed: what "
            f"{'it holds' if len(stuck) == 1 else 'they hold'}, GPU memory and ports too, stays taken"
        )
        yield check.found(message, evidence=_lines(stuck), fixes=[LOOK, OTHER, DRIVER, DRAIN])
    else:
        yield from _told_by_kernel(kernel_log, host)
    if processes.zombies:
        dead = processes.zombies
        parents = sorted({f"{p.parent_name} (pid {p.parent})" for p in dead if p.parent is not None})
        one = len(dead) == 1
        message = (
            f"{_named(dead)} {'has' if one else 'have'} ended and {'is' if one else 'are'} not collected by "
            f"{', '.join(parents[:3]) or 'the parent'}: ranks of a launch that {'is' if one else 'are'} not cleaned up"
        )
        contained = host is not None and host.container is not None
        fixes = [INIT, LOOK] if contained and any(p.parent == 1 for p in dead) else [LOOK]
        # A slow first process collects them later. A launcher that does not, hangs itself; several of one parent were
        # ranks, and threads that still hang hold what the process held.
        siblings = max(Counter(p.parent for p in dead).values())
        lasting = siblings >= SEVERAL or any((p.threads or 1) > 1 or _launched(p) for p in dead)
        severity = Severity.WARNING if lasting else Severity.NOTE
        yield check.found(message, severity=severity, evidence=_lines(dead), fixes=[*fixes, _end(dead)])


def _of_text(rows: ProcessRows | None, log: KernelLog | None, host: Host | None) -> Iterator[Finding]:
    """Say what rows of ps and top show at one look: a process may have moved since."""
    if rows is None and (log is None or log.source != PASTED):
        raise CannotTell("the processes are not known")
    yield from _told_by_kernel(log, host)
    if rows is None:
        return
    if rows.stuck:
        message = (
            f"{_named(rows.stuck)} {'waits' if len(rows.stuck) == 1 else 'wait'} inside the kernel (state D): if it stays so, "
            "a GPU, its driver or a disk does not answer, and nothing can end it"
        )
        yield check.found(message, severity=Severity.NOTE, fixes=[LOOK, OTHER, DRIVER, DRAIN])
    if rows.zombies:
        message = (
            f"{_named(rows.zombies)} {'has' if len(rows.zombies) == 1 else 'have'} ended and {'is' if len(rows.zombies) == 1 else 'are'} "
            "not collected: while threads of it hang in the driver, GPU memory and ports stay taken"
        )
        yield check.found(message, fixes=[LOOK, OTHER, DRIVER])


def _told_by_kernel(log: KernelLog | None, host: Host | None) -> Iterator[Finding]:
    """Say which process the kernel last saw stuck: for two minutes in state D, or on a processor in the kernel."""
    for event in [*log.of("hung-task"), *log.of("soft-lockup")] if log else []:
        if not OURS.fullmatch(event.process):
            continue
        known = event.seconds is not None and host is not None and host.uptime_seconds is not None
        age = (host.uptime_seconds or 0.0) - (event.seconds or 0.0) if known and host is not None else None
        how = (
            "waited inside the kernel for minutes"
            if event.kind == "hung-task"
            else "held a processor in the kernel"
        )
        when = f", {age / 3600:.0f} h ago" if age is not None and age >= 3600 else ""
        message = (
            f"{event.process} {how}{when}: a GPU, its driver or a disk did not answer, and ranks stood still"
        )
        severity = Severity.NOTE if age is not None and age > DAY else Severity.WARNING
        evidence = [Evidence(event.text, log.source if log else None)]
        yield check.found(message, severity=severity, evidence=evidence, fixes=[LOOK, OTHER, DRIVER])
        return


def _launched(process: Process) -> bool:
    """Return whether a launcher of ranks started it; any other Python program may collect its children when it likes."""
    return process.parent_name.startswith(("pt_", "torchrun", "accelerate", "deepspeed"))


def _named(processes: list[Process]) -> str:
    return listed([p.words for p in processes])


def _lines(processes: list[Process]) -> list[Evidence | str]:
    return [
        Evidence(f"{p.pid} {p.name} state {p.state}, child of {p.parent} {p.parent_name}".rstrip(), "/proc")
        for p in processes[:8]
    ]


def _end(dead: list[Process]) -> Fix:
    parent = next((p.parent for p in dead if p.parent not in (None, 1)), None)
    if parent is None:
        return Fix("Or restart the container: its first process does not collect them")
    return Fix(
        "Or look at their parent, and end it if nothing else needs it: they go with it",
        f"ps -o pid,user,lstart,args -p {parent}",
    )
