"""What lines of the kernel log mean: the few kinds that a training cares about, told from everything else."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from msgspec.structs import replace

from gpudoctor.facts import KernelEvent
from gpudoctor.patterns import late_pattern

# /dev/kmsg: "4,1234,98765432,-;text"; dmesg: "[  98.765432] text", with CONFIG_PRINTK_CALLER "[  98.765432][ T1] text";
# journalctl -o short-monotonic: "[   98.765432] node1 kernel: text"; a file:
# "Nov 22 10:00:00 node1 kernel: [ 98.7] text".
RECORD = late_pattern(r"\d{1,4},\d+,(?P<usec>\d+),[^;]*;(?P<text>.*)")
LINE = late_pattern(
    r"(?:<\d+>)?(?:(?:[A-Z][a-z]{2} +\d+ [\d:]+|\d{4}-\d\d-\d\d\S+) \S+ kernel: ?)?"
    r"(?:\[ *(?P<sec>\d+\.\d+)\](?:\[[^\]]*\])? ?|\[[A-Z][^\]]*\] ?)?(?:\S+ kernel: ?)?(?P<text>.*)"
)
BOOT = "Linux version "
"""How the first line that a kernel writes begins."""
PLACE = r"(?:PCI:)?(?P<address>[0-9a-fA-F]{1,8}(?::[0-9a-fA-F]{1,4}){1,3}(?:\.\d)?)"
TRAINING = r"(?:python|pt_main|pt_|torchrun|ray::|train|accelerate|deepspeed|nccl)"
TEXT_MOST = 400
"""Characters of a line that are kept."""
EVENTS_MOST = 400
SAME_KILL = 30.0
"""Seconds within which two lines on one process are one kill."""


@dataclass(frozen=True)
class Line:
    """One line: seconds since boot, and what was written."""

    text: str
    seconds: float | None = None


def parse(raw: str) -> Line:
    """Split the time off a line of any of the forms that kernel logs come in."""
    match = RECORD.fullmatch(raw)
    if match:
        return Line(match["text"], int(match["usec"]) / 1e6)
    match = LINE.fullmatch(raw)
    if match is None:
        return Line(raw)
    return Line(match["text"], float(match["sec"]) if match["sec"] else None)


Make = Callable[[re.Match[str]], KernelEvent]


def _event(kind: str, **fixed: bool | int | None) -> Make:
    """Make an event of a match's named groups."""

    def make(match: re.Match[str]) -> KernelEvent:
        groups = {name: text for name, text in match.groupdict().items() if text}
        pid = groups.get("pid", "")
        fatal = groups.get("fatal")
        event = KernelEvent(
            kind=kind,
            text="",
            code=int(groups["code"]) if "code" in groups else None,
            pci_address=address(groups.get("address", "")),
            process="" if groups.get("process", "<").startswith("<") else groups["process"][:80],
            pid=int(pid) if pid.isdecimal() else None,
            fatal=None if fatal is None else fatal.lower() in ("fatal", "(fatal)"),
        )
        return replace(event, **fixed)

    return make


PATTERNS: list[tuple[re.Pattern[str], Make]] = [
    (late_pattern(pattern), make)
    for pattern, make in [
        (
            (
                # of a GPU in MIG mode: "(PCI:0000:01:00 GPU-I:05)"
                rf"\bXid \({PLACE}(?: GPU-\S{{1,40}})?\): (?P<code>\d{{1,4}})\b(?:, pid='?(?P<pid>\d+|<unknown>)'?)?"
                r"(?:, name='?(?P<process>[^,']{1,80}))?"
            ),
            _event("xid"),
        ),
        (rf"\bSXid \({PLACE}\): (?P<code>\d+), (?P<fatal>Fatal|Non-fatal)\b", _event("sxid")),
        (rf"NVRM: GPU (?:at )?{PLACE}:? .{{0,8}}has fallen off the bus", _event("xid", code=79)),
        # when the driver is loaded: in one line, or in three of which the last has the words
        (rf"NVRM: The NVIDIA GPU {PLACE}.{{0,80}}fallen off the bus", _event("xid", code=79)),
        (r"NVRM: fallen off the bus and is not responding to commands", _event("xid", code=79)),
        (
            rf"NVRM:? (?:GPU {PLACE}:? )?.{{0,80}}(?:[Cc]annot initialize GSP|failed to wait for GFW_BOOT)",
            _event("gsp"),
        ),
        (
            (
                rf"NVRM: (?:GPU {PLACE}: )?.{{0,80}}(?:RmInitAdapter failed|rm_init_adapter failed|"
                r"probe routine (?:failed|was not called)|I/O region assigned to your NVIDIA device is invalid|"
                r"requires use of the NVIDIA open kernel modules|not supported by|supported through the NVIDIA|"
                r"Open nvidia\.ko is only ready for use)"
            ),
            _event("nvrm"),
        ),
        (
            (
                r"NVRM: (?:GPU\d+ )?(?:_kgspIsHeartbeatTimedOut: Heartbeat timed out|"
                r"_kgspLogRpcTimeout: \*+ GSP Timeout|.{0,80}"
                r"Timeout (?:waiting for RPC|after \d+s of waiting for RPC response) from (?:GPU\d+ )?GSP)"
            ),
            _event("gsp"),
        ),
        (rf"\bnvidia {PLACE}: .{{0,60}}IO_PAGE_FAULT", _event("iommu")),
        (rf"AMD-Vi: Event logged \[IO_PAGE_FAULT device={PLACE}", _event("iommu")),
        (
            rf"DMAR: \[DMA (?:Read|Write)[^\]]*\] Request device \[?{PLACE}\]?.{{0,80}}fault",
            _event("iommu"),
        ),
        (r"(?:Killed|Kill) process (?P<pid>\d+),? \(?(?P<process>[^),]{1,40})\)?", _event("oom-kill")),
        (
            r"oom-kill:constraint=.*\btask=(?P<process>[^,]{1,40}),pid=(?P<pid>\d+)",
            _event("oom-kill"),
        ),
        (
            r"task (?P<process>.{1,40}):(?P<pid>\d+) (?:<\S+> )?blocked for more than \d+ seconds",
            _event("hung-task"),
        ),
        (
            r"BUG: soft lockup - CPU#\d+ stuck for \d+s! \[(?P<process>[^\]]{1,40}):(?P<pid>\d+)\]",
            _event("soft-lockup"),
        ),
        (
            rf"(?P<process>{TRAINING}[^\[]{{0,40}})\[(?P<pid>\d+)\]:? (?:segfault at|general protection fault|trap)",
            _event("segfault"),
        ),
        (
            (
                r"(?P<process>[^\[\s]{1,40})\[(?P<pid>\d+)\]:? (?:segfault at|general protection fault).{0,200}"
                r" in lib(?:nccl|cu(?:da|dnn|blas|sparse|solver|fft)|torch|c10|nvidia|nvrtc|mlx5|ibverbs)"
            ),
            _event("segfault"),
        ),
        (
            (
                rf" {PLACE}: (?:AER: )?PCIe Bus Error: severity=(?:Uncorrect(?:ed|able) )?"
                r"(?:(?P<fatal>\(Fatal\)|\(Non-Fatal\))|Corrected)"
            ),
            _event("aer"),
        ),
        (
            (
                rf"mlx5_core {PLACE}: .{{0,60}}(?:insufficient power on the PCIe slot|Port module event\[error\]|"
                r"[Hh]igh [Tt]emperature)"
            ),
            _event("mlx5"),
        ),
        (r"\b(?:nfs|NFS): server (?P<process>\S+) not responding", _event("nfs")),
    ]
]
ANSWERS = late_pattern(r"\b(?:nfs|NFS): server (\S+) OK\b")
WORDS = late_pattern(
    r"Xid|NVRM|IO_PAGE|DMAR|process|oom-kill|blocked for|lockup|segfault|protection|trap|PCIe Bus|mlx5|server"
)


def address(text: str) -> str:
    """Return a PCI address as the kernel writes it, ``0000:3b:00.0``; empty for what is none."""
    bus, dot, function = text.lower().partition(".")
    parts = bus.split(":")
    if len(parts) not in (2, 3) or not all(parts):
        return ""
    domain = parts[0] if len(parts) == 3 else "0000"
    return f"{int(domain, 16):04x}:{parts[-2]:>02}:{parts[-1]:>02}.{function if dot else '0'}"


def events(lines: Iterable[Line]) -> list[KernelEvent]:
    """Return what lines of one boot tell, those alike counted, the newest of each kind kept."""
    found: dict[tuple[object, ...], KernelEvent] = {}
    kills: dict[int, float] = {}
    for line in lines:
        if answered := ANSWERS.search(line.text):
            found.pop(("nfs", None, "", None, answered[1]), None)
        for event in _read(line):
            by_process = event.kind not in ("xid", "sxid", "aer", "mlx5", "iommu")
            key = (event.kind, event.code, event.pci_address, event.fatal, by_process and event.process)
            if event.kind == "oom-kill" and event.pid is not None:
                last, kills[event.pid] = kills.get(event.pid), line.seconds or 0.0
                if last is not None and kills[event.pid] - last < SAME_KILL:
                    continue
            before = found.pop(key, None)
            found[key] = replace(event, count=1 + (before.count if before else 0))
    return list(found.values())[-EVENTS_MOST:]


def _read(line: Line) -> Iterator[KernelEvent]:
    """Yield what one line tells: nothing, mostly."""
    if not WORDS.search(line.text):
        return
    for pattern, make in PATTERNS:
        match = pattern.search(line.text)
        if match is not None:
            event = make(match)
            yield replace(event, text=line.text.strip()[:TEXT_MOST], seconds=line.seconds)
            return
