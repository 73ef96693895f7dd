"""Another process holds the GPU's memory.

## What happens

An allocation fails although this process has taken little: "CUDA out of memory … Process 4711 has 60.12 GiB memory in
use … this process has 612.00 MiB memory in use". The first `.to(device)` fails already, or CUDA does not start at all:
"Error 2: out of memory". vLLM says "Free memory on device … is less than desired GPU memory utilization".

## Why

- Ranks of your last run that did not end with it, or a dead process whose data loader workers still run.
- A notebook's kernel, an inference server or a display.
- Other users, on a machine without a scheduler.
- A GPU with a fault keeps memory that nobody holds.

## How to tell

`nvidia-smi --query-compute-apps=gpu_uuid,pid,name,used_memory --format=csv` names the holders; where it is empty,
`sudo fuser -v /dev/nvidia*` names them, processes of other containers too. `ps -o user,ppid,lstart,cmd -p PID` shows
what one is: with the same command as yours, it is a rank of an earlier run. Several of one size that belong to this
launch: the ranks share one GPU.

## See also

- [My GPU memory isn't freed properly](https://docs.pytorch.org/docs/stable/notes/faq.html#my-gpu-memory-isn-t-freed-properly): processes that outlive Python
- [pytorch 1085](https://github.com/pytorch/pytorch/issues/1085): data loader workers that outlive a killed process
"""

import re
from collections.abc import Iterator, Mapping

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Sighting, Symptom, byte_size, in_bytes
from gpudoctor.facts import Gpu, Gpus, Launch, Pci

SIZE = r"\d+(?:\.\d+)? ?(?:[KMGT]i?B|bytes)"
MUCH = 0.25
"""Of the GPU's memory: what others must hold for it to be theirs to blame."""
NOTICEABLE, UNSEEN = 1 << 30, 4 << 30
"""Bytes of others that matter: of processes that show (an idle context takes a few hundred MiB), and of none."""
BUSY = 10
"""Percent of the last second in which the GPU worked: what a process that was left behind never shows."""

SEE = Fix(
    "See who holds the memory",
    "nvidia-smi --query-compute-apps=gpu_uuid,pid,name,used_memory --format=csv",
)
FREE = Fix("Take GPUs that are free", "export CUDA_VISIBLE_DEVICES=GPU,GPU")
END = Fix(
    "End your own old ranks, after a look at what they are", "ps -o user,ppid,lstart,cmd -p PID; kill PID"
)
RESET = Fix("If no process holds it: reset the GPU", "sudo nvidia-smi --gpu-reset -i GPU", Kind.ADMIN)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning in facts; a note where the GPUs are at work, and for less than a quarter that nobody shows",
    follows=["stray-ranks"],
    symptoms=[
        rf"\bProcess (?P<pid>\d+) has (?P<held>{SIZE}) memory in use",
        (
            rf"(?:Tried to allocate (?P<asked>{SIZE}) )?\(GPU (?P<gpu>\d+); (?P<total>{SIZE}) total capacity; (?P<allocated>{SIZE}) already allocated; "
            rf"(?P<free>{SIZE}) free; (?P<own>{SIZE}) (?P<kind>reserved|cached)"
        ),
        r"Free memory on device (?:cuda:(?P<gpu>\d+) )?\((?P<left>[\d.]+)/(?P<all>[\d.]+) GiB\) on startup is less than",
        r"Unexpected error from cudaGetDeviceCount\(\).{0,200}Error 2: out of memory",
        # as people put it
        Symptom(
            r"\b(?:GPU|gpu|[Vv]ideo|VRAM|[Dd]evice)(?:'s)? (?:memory )?(?:is |was |stays |remains )(?:still )?(?P<stays>occupied|held|allocated|in use"
            r"|not (?:released|freed))\b",
            near=r"\bno (?:running )?process(?:es)?\b|process(?:es)? (?:is|are) (?:not )?(?:shown|listed|gone|dead)|\bzombie",
        ),
    ],
    fixes=[SEE, FREE, END, RESET],
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Compare what others hold with this process's own share and with the whole."""
    groups = sighting.groups
    if "held" in groups:
        yield from _by_process(sighting)
    elif "total" in groups:
        yield from _by_total(groups)
    elif "left" in groups:
        free = f"{groups['left']} of {groups['all']} GiB{_of(groups.get('gpu'))} were free"
        yield check.found(f"{free} when this process started: the memory is another process's")
    elif "stays" in groups:
        yield check.found(
            "memory of a GPU stays taken where nvidia-smi shows no process: one is left that it cannot see"
        )
    else:
        yield check.found(
            "the GPU had no memory left to start CUDA in: the memory is another process's",
        )


def _by_total(groups: Mapping[str, str]) -> Iterator[Finding]:
    """Read a message that tells what is free, and this process's own share, of the whole."""
    total, own = in_bytes(groups["total"]), in_bytes(groups["own"])
    if groups["kind"] == "cached":  # until 1.3: beside what is allocated, not above it
        own += in_bytes(groups["allocated"])
    free = in_bytes(groups["free"])
    if "asked" in groups and in_bytes(groups["asked"]) <= free:
        return  # there was room, so what others hold is not the reason
    others = total - own - free
    if others >= max(MUCH * total, NOTICEABLE):  # this process's own context is among them
        held = f"{byte_size(others)}{_of(groups.get('gpu'))} are held by other processes"
        yield check.found(f"{held}, {byte_size(own)} by this one: the memory is another process's")


def _by_process(sighting: Sighting) -> Iterator[Finding]:
    """Read a message that lists the processes on the GPU."""
    # The message may have been cut or wrapped: it begins in this line at the latest and ends soon.
    start = sighting.around.find(sighting.line)
    text = sighting.around[max(start, 0) :][:2000] if start >= 0 else sighting.line
    listed = re.findall(rf"\bProcess (\d+) has ({SIZE}) memory in use", text)
    holders = {pid: in_bytes(held) for pid, held in listed}
    mine = _own(text, holders)
    if not holders:
        return
    pid, most = max(holders.items(), key=lambda item: item[1])
    others = sum(holders.values())
    capacity = re.search(rf"total capac\w+ of ({SIZE})", text)
    # As large as this process's own share: the ranks of one launch share the GPU.
    if (capacity and others < MUCH * in_bytes(capacity[1])) or most <= 1.2 * mine:
        return
    gpu = re.search(r"\bGPU (\d+) has a total", text)
    look = Fix(
        f"See what process {pid} is; if it is an old one of your own, end it",
        f"ps -o user,ppid,lstart,cmd -p {pid}",
    )
    held = f"{byte_size(others)}{_of(gpu and gpu[1])} are held by other processes (most by {pid})"
    message = f"{held}, {byte_size(mine)} by this one: the memory is another process's"
    yield check.found(message, fixes=[look, FREE, SEE, RESET])


def _own(text: str, holders: dict[str, float]) -> float:
    """Return this process's own share, and take it out of those that are listed.

    In a container a process is listed by the host's number, and is known by its share alone.
    """
    own = re.search(rf"this process has ({SIZE}) memory in use", text)
    if own:
        return in_bytes(own[1])
    parts = [re.search(rf"({SIZE}) is {words} by PyTorch", text) for words in ("allocated", "reserved")]
    mine = sum(in_bytes(part[1]) for part in parts if part)
    near = [pid for pid, held in holders.items() if mine <= held <= mine + 2 * 2**30 and mine > 0]
    if near:
        del holders[min(near, key=lambda pid: holders[pid] - mine)]
    return mine


def _of(gpu: str | None) -> str:
    return f" of GPU {gpu}" if gpu else ""


@check.environment
def environment(gpus: Gpus, launch: Launch | None, pci: Pci | None) -> Iterator[Finding]:
    """Processes that are not of this launch hold memory of GPUs that it may use."""
    if gpus.silence(pci):
        raise CannotTell(gpus.silence(pci))
    used = [
        gpu
        for gpu in gpus.chosen(launch.variables.get("CUDA_VISIBLE_DEVICES") if launch else None)
        if not gpu.mig
    ]
    if used and all(gpu.memory_used_bytes is None and gpu.processes is None for gpu in used):
        raise CannotTell("NVML does not tell how much memory is used")
    held = {gpu.index: _held(gpu) for gpu in used}
    hit = [gpu for gpu in used if held[gpu.index]]
    if not hit:
        return
    pids = {p.pid: p.name for gpu in hit for p in gpu.processes or () if not p.own}
    most = byte_size(max(held.values()))
    amount = (
        f"{most} of {gpus.named(hit)} is"
        if len(hit) == 1
        else f"up to {most} of each of {gpus.named(hit)} are"
    )
    # GPUs that work are in use, and no left-over holds them; who shares the machine expects it.
    busy = all((gpu.utilization_percent or 0) >= BUSY for gpu in hit)
    at_work = ", which are at work" if busy else ""
    little = all(_little(gpu, held[gpu.index]) for gpu in hit)
    yield check.found(
        f"{amount} held by other processes{at_work}: this launch has less, and runs out of memory earlier",
        severity=Severity.NOTE if busy or little else Severity.WARNING,
        evidence=[_line(gpu, held[gpu.index]) for gpu in hit],
        fixes=_free(gpus, hit, pids),
    )


def _line(gpu: Gpu, held: int) -> str:
    """Say how much of a GPU is held, and by whom."""
    others = [process for process in gpu.processes or () if not process.own]
    who = ", ".join(f"{p.pid}{f' ({p.name})' if p.name else ''}" for p in others[:4])
    size = byte_size(held) + (f" of {byte_size(gpu.memory_bytes)}" if gpu.memory_bytes else "")
    return f"GPU {gpu.index}: {size}, {f'process {who}' if who else 'no process of this PID namespace'}"


def _held(gpu: Gpu) -> int:
    """Return the bytes that others hold; 0 where that is as on an idle GPU, or with a desktop on it."""
    listed = [p for p in gpu.processes or () if not p.own]
    by_them = sum(p.memory_bytes or 0 for p in listed)
    own = sum(p.memory_bytes or 0 for p in gpu.processes or () if p.own)
    beyond = max((gpu.memory_used_bytes or 0) - (gpu.memory_reserved_bytes or 0) - own, 0)
    if listed and all(p.memory_bytes is None for p in listed):
        by_them = beyond  # in a container NVML names the processes and not their share
    if by_them >= NOTICEABLE:
        return by_them
    # Held, and by nobody who shows: another container's, or a display's, which takes less.
    return beyond if beyond >= UNSEEN else 0


def _little(gpu: Gpu, held: int) -> bool:
    """Return whether nobody shows who holds it, and it is a small part of the GPU's memory."""
    seen = any(not p.own for p in gpu.processes or ())
    return not seen and held < MUCH * (gpu.memory_bytes or 0)


def _free(gpus: Gpus, hit: list[Gpu], pids: dict[int, str | None]) -> list[Fix]:
    fixes = [SEE]
    if pids:
        known = " ".join(str(pid) for pid in list(pids)[:8])
        look = f"ps -o user,ppid,lstart,cmd -p {known.replace(' ', ',')}"
        fixes = [
            Fix(
                "See what they are; if they are ranks of an earlier run of your own, end them",
                f"{look}; kill {known}",
            ),
            SEE,
        ]
    if rest := gpus.without(hit):
        fixes.append(Fix("Take the GPUs that are free", f"export CUDA_VISIBLE_DEVICES={rest}"))
    return [*fixes, RESET]
