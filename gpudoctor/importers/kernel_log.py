"""Lines of ``dmesg``, ``journalctl -k`` or ``/var/log/kern.log`` that speak of GPUs and of memory -> a kernel log."""

import re
from collections.abc import Iterable

from msgspec.structs import replace

from gpudoctor.facts import KernelEvent, KernelLog

_SIGNS = (
    "NVRM: ",
    "SXid (PCI",
    "Out of memory: ",
    "Memory cgroup out of memory",
    "oom-kill:",
    "blocked for more than",
)
_XID = re.compile(
    r"NVRM: Xid \((?:PCI:)?(?P<address>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}(?:\.[0-9A-Fa-f])?)?)"
    r"(?: GPU-\S{1,40})?\): (?P<code>\d{1,4})(?P<rest>.{0,600})"
)
_SXID = re.compile(
    r"SXid \(PCI:(?P<address>[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])\): (?P<code>\d{3,6})"
    r"(?P<rest>.{0,600})"
)
_PROCESS = re.compile(r"name='?(?P<name>[^,'<>]{1,80})'?[,)]?")
_PID = re.compile(r"pid='?(\d{1,10})\b")
_KILLED = re.compile(r"ut of memory: Kill(?:ed)? process \d{1,10} \((?P<name>[^)]{1,80})\)")
_STUCK = re.compile(r"task (?P<name>\S{1,80}):\d{1,10} blocked for more than \d{1,6} seconds")
_SECONDS = re.compile(r"^\[\s{0,8}(?P<seconds>\d{1,10}\.\d{1,9})\]")
_INIT = re.compile(r"NVRM:.{0,200}(?:RmInitAdapter failed|rm_init_adapter failed)")
_MOST = 500


def read(lines: Iterable[str]) -> KernelLog | None:
    """Read what the lines say; ``None`` where no line is one of these: then nothing is known of the kernel's log.

    ``[1203914.1] NVRM: Xid (PCI:0000:90:00): 48, pid=812231, name=python3, DBE (double bit error) …``
    """
    events: dict[tuple[str, int | None, str, str], KernelEvent] = {}
    for line in lines:
        if not any(sign in line for sign in _SIGNS):
            continue
        event = _event(line)
        if event is None:
            continue
        key = (event.kind, event.code, event.pci_address, event.process)
        if key in events:
            events[key] = replace(event, count=events[key].count + 1)
        elif len(events) < _MOST:
            events[key] = event
    return KernelLog(source="the text", events=list(events.values())) if events else None


def _event(line: str) -> KernelEvent | None:
    at = _SECONDS.match(line)
    seconds = float(at["seconds"]) if at else None
    if match := _XID.search(line):
        process, pid = _PROCESS.search(match["rest"]), _PID.search(match["rest"])
        name = process["name"].strip() if process else ""
        return KernelEvent(
            kind="xid", text=match[0], code=int(match["code"]), pci_address=_address(match["address"]),
            process="" if name == "unknown" else name, pid=int(pid[1]) if pid else None, seconds=seconds,
        )  # fmt: skip
    if match := _SXID.search(line):
        fatal = "Non-fatal" not in match["rest"] if "atal" in match["rest"] else None
        return KernelEvent(
            kind="sxid", text=match[0], code=int(match["code"]), pci_address=_address(match["address"]), fatal=fatal,
            seconds=seconds,
        )  # fmt: skip
    if match := _KILLED.search(line):
        return KernelEvent(
            kind="oom-kill", text=line[match.start() - 1 :][:600], process=match["name"], seconds=seconds
        )
    if match := _STUCK.search(line):
        return KernelEvent(kind="hung-task", text=match[0], process=match["name"], seconds=seconds)
    if match := _INIT.search(line):
        return KernelEvent(kind="nvrm", text=match[0], seconds=seconds)
    return None


def _address(text: str) -> str:
    """Return ``0000:3b:00`` as ``0000:3b:00.0``."""
    parts = text.lower().split(":")
    parts = [*parts, "00"] if len(parts) == 2 else parts
    address = ":".join(parts)
    return address if "." in address else f"{address}.0"
