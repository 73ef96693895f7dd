"""Ranks of an earlier launch still run.

## What happens

The next launch finds the port taken (`port-in-use`), GPU memory used (`gpu-memory-held`, `cuda-oom`), or runs at half the
speed because somebody else computes on the same GPUs.

## Why

The launcher was killed with -9, the terminal or the SSH session went away, or a notebook's kernel restarted. Its ranks
were in processes of their own and were told nothing: they wait in a collective for each other, until the time-out or for
ever.

## How to tell

`ps -eo pid,ppid,user,lstart,args | grep '[p]ython'`: a rank whose parent is 1 (or `systemd --user`) has no launcher any
more. `nvidia-smi` shows which processes hold memory; in a container it shows those of the container alone, or none.

## See also

- [torchrun](https://docs.pytorch.org/docs/stable/elastic/run.html): what starts ranks, and ends them
- [torch.multiprocessing](https://docs.pytorch.org/docs/stable/multiprocessing.html): a main process that ends abruptly may leave its children behind
"""

from collections.abc import Iterator

from gpudoctor import Check, Evidence, Finding, Fix, Severity, count, listed
from gpudoctor.facts import Gpus, Launch, Process, Processes, Sockets

check = Check(
    severity=Severity.WARNING,
    otherwise="an error where one holds the port of this launch",
    fixes=[
        Fix(
            "See what an earlier run left over; then `kill PID`, and `kill -9 PID` for what stays",
            "ps -u $(id -u) -o pid,ppid,lstart,args | grep '[t]rain.py'",
        )
    ],
    no_reproduction="its failure in a log is port-in-use or cuda-oom",
)


@check.environment
def environment(
    processes: Processes, gpus: Gpus | None, sockets: Sockets | None, launch: Launch | None
) -> Iterator[Finding]:
    """Python processes that are ranks by their environment have lost their launcher."""
    stray = [p for p in processes.ranks if p.orphaned and not p.own]
    if not stray:
        return
    held = _held(stray, gpus, sockets, launch)
    one = len(stray) == 1
    names = listed([p.words + (f", rank {p.rank}" if p.rank else "") for p in stray])
    holds = f", and {'holds' if one else 'hold'} {held}" if held else ""
    message = (
        f"{count(len(stray), 'rank')} of an earlier launch still {'runs' if one else 'run'} without a launcher "
        f"({names}){holds}"
    )
    message += ": the next launch finds what they use taken"
    pids = " ".join(str(p.pid) for p in stray)
    look = f"ps -o pid,ppid,user,lstart,args -p {pids.replace(' ', ',')}"
    fixes = [Fix("See that they are what you think", look)]
    if all(p.same_user for p in stray):  # others are somebody else's to end
        fixes.append(Fix("End them", f"kill {pids}; sleep 5; kill -9 {pids}"))
    evidence = [Evidence(_line(p), f"/proc/{p.pid}") for p in stray[:8]]
    yield check.found(message, severity=_severity(stray, sockets, launch), evidence=evidence, fixes=fixes)


def _severity(stray: list[Process], sockets: Sockets | None, launch: Launch | None) -> Severity:
    """Return an error where one of them listens on the port that this launch is about to open."""
    if (
        launch is None
        or sockets is None
        or launch.master_port is None
        or launch.number("RANK") not in (None, 0)
    ):
        return Severity.WARNING
    pids = {p.pid for p in stray}
    taken = any(s.port == launch.master_port and s.pid in pids for s in sockets.listeners)
    return Severity.ERROR if taken else Severity.WARNING


def _held(stray: list[Process], gpus: Gpus | None, sockets: Sockets | None, launch: Launch | None) -> str:
    """Say what they hold: GPUs by NVML or by what they have open, and the port of this launch."""
    pids = {p.pid for p in stray}
    by_nvml = {d.index for d in (gpus.devices if gpus else []) for q in d.processes or [] if q.pid in pids}
    opened = {path.removeprefix("/dev/nvidia") for p in stray for path in p.devices}
    numbers = sorted({*(str(i) for i in by_nvml), *opened}, key=lambda text: (len(text), text))
    held = [f"GPU {', '.join(numbers)}"] if numbers else []
    held += sorted({f"port {s.port}" for s in (sockets.listeners if sockets else []) if s.pid in pids})
    return " and ".join(held)


def _line(process: Process) -> str:
    parts = [f"{process.name}, parent {process.parent} ({process.parent_name})"]
    if process.rank is not None:
        parts.append(f"RANK={process.rank}")
    if process.master_port is not None:
        parts.append(f"MASTER_PORT={process.master_port}")
    return ", ".join(parts)
