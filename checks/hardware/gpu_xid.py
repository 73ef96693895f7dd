"""The driver reported an event of the GPU, by its Xid number.

## What happens

The kernel log has a line "NVRM: Xid (PCI:0000:10:1c): 31, pid=4711, name=python, Ch 00000010, … MMU Fault …". What the
job prints is vague beside it: "unspecified launch failure", "illegal memory access", "unknown error", or a hang.

## Why

The number tells who is to blame, and NVIDIA's catalogue gives an action for each:

| Xid | what it means | what to do |
| --- | --- | --- |
| 13, 31 | a kernel of your program used an address that is not its own | find the kernel; start the job again |
| 43, 45 | your program's work was removed, after a fault or because it was killed | look at what came before |
| 68, 69 | your program used the video or the graphics engine wrongly | start the job again |
| 8 | the GPU stopped processing | start the job again; if it returns, reset the GPU |
| 32 | commands arrived damaged at the GPU: mostly the PCIe link, rarely a program | test the link and the card |
| 46, 62, 110, 143 | the GPU hung or halted | reset the GPU |
| 109 | work did not give way in time (context switch) | reset the GPU; if it returns, ask NVIDIA |
| 119, 120 | the GPU's own processor (GSP) did not answer | reset; a newer driver and a restart; then the vendor |

Failing memory, NVLink errors, a GPU that left the bus and a pending reset have pages of their own (`gpu-ecc-error`,
`nvlink-errors`, `gpu-fell-off-bus`, `gpu-reset-required`).

## How to tell

`sudo dmesg -T | grep -i xid`, or `journalctl -k -b -1 | grep -i xid` for the boot before (both want root on most
clusters: ask for it). The first Xid counts; 43 and 45 come after something else. An Xid that blames the program, and
that comes on one GPU alone whatever runs there, is a fault of that GPU after all.
The address is the `pci.bus_id` of `nvidia-smi --query-gpu=index,pci.bus_id --format=csv`.

## See also

- [Xid catalogue](https://docs.nvidia.com/deploy/xid-errors/analyzing-xid-catalog.html): every number and its action
- [Working with Xid errors](https://docs.nvidia.com/deploy/xid-errors/working-with-xid-errors.html): where they are logged, and how to read them
"""

import re
from collections.abc import Iterator, Mapping

from gpudoctor import Check, Evidence, Finding, Fix, Kind, Severity, Sighting, Symptom
from gpudoctor.facts import Gpu, Gpus, KernelEvent, KernelLog
from gpudoctor.wordings import LISTED_XID, SAID_XID, TOLD_XIDS, XID_HAPPENED

# ECC, NVLink, the bus and a pending reset are other checks.
OF_OTHERS = {48, 63, 64, 74, 79, 92, 94, 95, 136, 140, *range(144, 151), 154, 155, 171, 172}
SINCE = 3600.0
"""Seconds for which what a program did wrong is worth more than a note: an earlier job of anybody's may have done it."""
OTHERS = r"(?!(?:48|63|64|74|79|92|94|95|136|140|14[4-9]|150|154|155|171|172)\b)"
XID = rf"\bXid \((?:PCI:)?(?P<address>[0-9a-fA-F:.]+)(?: GPU-\S{{1,40}})?\): {OTHERS}(?P<xid>\d{{1,3}})\b"
PROCESS = r"(?:, pid='?(?P<pid>\d+)'?)?(?:, name='?(?P<name>[\w./+-]{1,60})'?)?"

PROGRAM = {
    13: "a kernel broke a rule of the GPU, such as an address out of range or misaligned",
    31: "a kernel or a copy used an address that is not mapped",
    43: "a program's work was stopped after a fault of its own",
    45: "the driver removed a program's work: it was killed, or another fault ended it",
    68: "the video decoder failed on what a program gave it",
    69: "a program used the graphics engine in a way that it does not allow",
    137: "a program used memory of another GPU over NVLink without the right to",
}
GPU = {
    8: "the GPU stopped processing",
    32: "commands arrived damaged at the GPU, which mostly means a bad PCIe link",
    46: "the GPU stopped processing",
    51: "the GPU's scheduler met a broken group of channels",
    54: "an auxiliary power connector is missing",
    61: "the GPU's power management processor stopped at a fault",
    62: "the GPU's power management processor halted",
    78: "the virtual GPU could not start",
    109: "work did not give way in time (context switch time-out)",
    110: "a security fault",
    119: "the GPU's own processor (GSP) did not answer in time",
    120: "the GPU's own processor (GSP) stopped at a fault",
    125: "the InfoROM's file system is damaged",
    143: "the GPU could not be initialised",
    158: "the GPU did not finish in time and cannot go on",
    167: "a PCIe request ran out of time",
}
# NVIDIA's own action for these is: none.
IGNORED = {14, 37, 38, 43, 44, 45, 66, 67, 93, 106, 107, 121, 137, 141, 152, 153, 157, 161}
RECOVERY_CHANGED = 154
ACTION = re.compile(r" to 0x[1-9a-fA-F]\w* \(([^)]{1,60})\)")
CLEAN_UP = {43, 45}
"""What the driver does to a program after a fault."""
FIRMWARE_STOPPED = (119, 120)
RESTART_FIRST = 8
"""NVIDIA's action: start the program again; only where it returns it is the GPU."""
LINK = 32
DESKTOP = re.compile(r"Xorg|Xwayland|gnome-shell|kwin|plasma|chrom|firefox|steam")

BLOCKING = Fix(
    "See which call of the program it is: errors are then raised where they happen",
    "export CUDA_LAUNCH_BLOCKING=1  # then start the training as before",
)
SANITIZER = Fix(
    "Find the access itself, on a small case and with one process: this is slow",
    "compute-sanitizer --tool memcheck python train.py",
)
LEAVE_OUT = Fix(
    "On a cluster: leave this node out, and send the administrators its name and this line",
    "sbatch --exclude=NODE job.sh",
)
AGAIN = Fix("Start the job again from its last checkpoint")
RESET = Fix("Reset the GPU, with nothing running on it", "sudo nvidia-smi --gpu-reset -i GPU", Kind.ADMIN)
DIAGNOSE = Fix(
    "Where it returns on the same GPU whatever runs there: test the card, and have it exchanged",
    "sudo dcgmi diag -r 3 -i GPU",
    Kind.ADMIN,
)
PCIE = Fix(
    "See whether the PCIe link is degraded or counts errors",
    "nvidia-smi -q -i GPU | grep -iE -A8 'link (speed|width|gen)|replay'",
)
FIRMWARE = Fix(
    "Install a newer driver, which brings newer GPU firmware, and restart at once: until then no new job finds a GPU",
    "sudo apt install --only-upgrade 'nvidia-driver-*' && sudo reboot",
    Kind.ADMIN,
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where a program is to blame or the GPU recovered, a note when that is an hour ago, and for a firmware that stopped",
    symptoms=[
        XID + PROCESS,
        rf"XidCriticalError: Xid={OTHERS}(?P<xid>\d{{1,3}}) on",
        rf"{SAID_XID}{OTHERS}(?P<xid>[1-9]\d{{0,2}})\b",
        Symptom(rf"{LISTED_XID}{OTHERS}(?P<xid>[1-9]\d{{0,2}})\b", near=TOLD_XIDS),
        rf"{LISTED_XID}{OTHERS}(?P<xid>[1-9]\d{{0,2}}){XID_HAPPENED}",
        rf"DCGM_FI_DEV_XID_ERRORS\{{[^}}]{{0,400}}\}} {OTHERS}(?P<xid>[1-9]\d{{0,2}})\b",
    ],
    follows=[
        "illegal-memory-access",
        "device-side-assert",
        "embedding-index",
        "cuda-launch-failure",
        "cuda-oom",
        "host-oom-killed",
    ],
    fixes=[BLOCKING, SANITIZER, LEAVE_OUT, RESET, DIAGNOSE],
    no_reproduction="needs a GPU, and root to read the kernel log",
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say what the number means, and whether it blames the program or the GPU."""
    xid, groups = int(sighting.groups["xid"]), sighting.groups
    if xid in CLEAN_UP and _follows(sighting):
        return
    where = f" of the GPU at {groups['address']}" if "address" in groups else ""
    meaning = PROGRAM.get(xid) or GPU.get(xid) or "NVIDIA's catalogue says what it means"
    severity, blame = Severity.WARNING if xid in IGNORED else None, ""
    if DESKTOP.search(groups.get("name", "")):
        severity, blame = Severity.NOTE, "; this is a program of the desktop, not the training"
    elif xid in PROGRAM:
        blame = "; this blames the program, not the GPU"
    elif xid in GPU:
        blame = "; this blames the GPU or its driver"
    message = f"Xid {xid}{where}{_who(groups)}: {meaning}{blame}"
    yield check.found(message, severity=severity, fixes=_fixes(xid))


def _fixes(xid: int) -> list[Fix]:
    """Return NVIDIA's action for a number, after what a user without root can do."""
    if xid in PROGRAM:
        return [BLOCKING, SANITIZER, LEAVE_OUT, DIAGNOSE]
    if xid == RESTART_FIRST:
        return [AGAIN, LEAVE_OUT, RESET, DIAGNOSE]
    if xid == LINK:
        return [LEAVE_OUT, PCIE, DIAGNOSE]
    if xid in FIRMWARE_STOPPED:
        return [LEAVE_OUT, RESET, FIRMWARE, DIAGNOSE]
    return [LEAVE_OUT, RESET, DIAGNOSE]


def _follows(sighting: Sighting) -> bool:
    """Return whether another Xid stands near, or in the line itself, that this one cleans up after."""
    others = {
        int(number) for number in re.findall(r"\bXid \([\w:.]+(?: GPU-\S{1,40})?\): (\d+)", sighting.around)
    }
    previous = re.search(r"caused by previous Xid (\d+)", sighting.line)
    return bool(others - CLEAN_UP) or (previous is not None and int(previous[1]) not in CLEAN_UP)


def _who(groups: Mapping[str, str]) -> str:
    """Name the process, where the line does."""
    parts = [groups.get("name", ""), f"process {groups['pid']}" if "pid" in groups else ""]
    named = ", ".join(part for part in parts if part)
    return f" ({named})" if named else ""


@check.environment
def environment(log: KernelLog, gpus: Gpus | None) -> Iterator[Finding]:
    """The kernel log has an Xid that no other check speaks of: of each GPU the one that says most."""
    newest: dict[str, list[KernelEvent]] = {}
    for event in log.of("xid"):
        newest.setdefault(event.pci_address, []).append(event)
    for events in newest.values():
        yield from _recovery(events, log, gpus)
        own = [e for e in events if e.code is not None and e.code not in OF_OTHERS]
        if any(e.code not in CLEAN_UP for e in events):
            own = [e for e in own if e.code not in CLEAN_UP]  # what followed from another one
        if not own:
            continue
        worst = min(own, key=lambda e: (_known_severity(e, log, gpus).rank, -(e.seconds or 0.0)))
        yield _seen(worst, log, _known_severity(worst, log, gpus))


def _recovery(events: list[KernelEvent], log: KernelLog, gpus: Gpus | None) -> Iterator[Finding]:
    """Report that the driver asked for a recovery, where NVML is too old to tell whether it still does."""
    asked = [event for event in events if event.code == RECOVERY_CHANGED]
    action = ACTION.search(asked[-1].text) if asked else None
    if action is None:
        return
    gpu = _of(asked[-1], gpus)
    if gpu is not None and gpu.recovery_action is not None:
        return  # gpu-reset-required goes by what NVML says now
    message = f"Xid 154 of the GPU at {asked[-1].pci_address}: the driver asks for its recovery ({action[1]})"
    evidence = [Evidence(asked[-1].text, log.source)]
    yield check.found(message, evidence=evidence, fixes=[LEAVE_OUT, RESET, DIAGNOSE])


def _of(event: KernelEvent, gpus: Gpus | None) -> Gpu | None:
    """Return the GPU that an event speaks of, as NVML knows it."""
    return next((g for g in (gpus.devices if gpus else []) if g.pci_address == event.pci_address), None)


def _known_severity(event: KernelEvent, log: KernelLog, gpus: Gpus | None) -> Severity:
    """Return how much an Xid matters still: an old fault of a program and what the driver wants nothing done for little.

    The log line is evidence only: where NVML says that no recovery is wanted any more, the GPU was reset since.
    """
    if DESKTOP.search(event.process) or event.code in FIRMWARE_STOPPED:  # gsp-firmware says how bad that is
        return Severity.NOTE
    age = log.age(event)
    old = age is not None and age > SINCE
    if event.code in PROGRAM or event.code in IGNORED:
        return Severity.NOTE if old else Severity.WARNING
    gpu = _of(event, gpus)
    recovered = gpu is not None and gpu.recovery_action == "none" and not gpu.errors
    return Severity.WARNING if recovered else Severity.ERROR


def _seen(event: KernelEvent, log: KernelLog, severity: Severity) -> Finding:
    xid = event.code or 0
    who = f" ({event.process})" if event.process else ""
    times = f", {event.count} times" if event.count > 1 else ""
    age = log.age(event)
    when = f", last {_ago(age)} ago" if age is not None else ""
    meaning = PROGRAM.get(xid) or GPU.get(xid) or "NVIDIA's catalogue says what it means"
    blame = "this blames the GPU or its driver" if xid in GPU else "NVIDIA asks for nothing to be done"
    if DESKTOP.search(event.process):
        blame = "this is a program of the desktop, not the training"
    elif xid in PROGRAM:
        blame = "this blames the program, not the GPU"
    elif xid not in GPU and xid not in IGNORED:
        blame = "look it up before the GPU is used again"
    message = f"Xid {xid} of the GPU at {event.pci_address}{who}{times}{when}: {meaning}; {blame}"
    evidence = [Evidence(event.text, log.source)]
    return check.found(message, severity=severity, evidence=evidence, fixes=_fixes(xid))


def _ago(seconds: float) -> str:
    for size, unit in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size:
            number = int(seconds // size)
            return f"{number} {unit}{'' if number == 1 else 's'}"
    return f"{int(seconds)} seconds"
