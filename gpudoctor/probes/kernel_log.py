"""Read the kernel log of this boot, from wherever it may be read."""

import errno
import os
import re
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from gpudoctor.facts import KernelLog
from gpudoctor.kernel_lines import BOOT, Line, events, parse

RECORD_MOST = 1 << 16
"""Bytes; a record of /dev/kmsg that does not fit would be an error, and the kernel's are at most 8 KiB."""
SECONDS_MOST = 5.0
"""For one source; the kernel's buffer is read in a tenth of a second."""
BYTES_MOST = 64 << 20
FILES = ("var/log/kern.log", "var/log/dmesg", "var/log/messages")
PROGRAMS = {
    "journalctl -k": ("journalctl", "-k", "-b", "-o", "short-monotonic", "--no-pager", "-q"),
    "dmesg": ("dmesg",),
}
COMMAND = "sudo gpudoctor check --only gpu-xid"


def probe(root: Path = Path("/")) -> KernelLog:
    """Read the log below `root`; raises PermissionError where no source of it can be read: that is no clean log."""
    refused = []
    try:
        return _facts("/dev/kmsg", _device(root / "dev/kmsg"), root)
    except OSError as error:
        refused.append(f"/dev/kmsg: {error.strerror or error}")
    if root == Path("/"):
        for name, command in PROGRAMS.items():
            if lines := _asked(command):
                return _facts(name, lines, root)
        refused.append(f"{' and '.join(PROGRAMS)} show nothing")
    for name in FILES:
        if lines := _file(root / name):
            return _facts(f"/{name}", lines, root)
    raise PermissionError(
        f"the kernel log is not readable here ({'; '.join(refused)}); on the host: {COMMAND}"
    )


def _facts(source: str, lines: list[Line], root: Path) -> KernelLog:
    return KernelLog(source=source, events=events(_this_boot(lines)), uptime_seconds=_uptime(root))


def _device(path: Path) -> list[Line]:
    """Read what the kernel's buffer holds: each read gives one record, and the last one fails with EAGAIN.

    Raises OSError: EPERM where the kernel lets root alone read it (kernel.dmesg_restrict).
    """
    data = bytearray()
    deadline = time.monotonic() + SECONDS_MOST
    device = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        while time.monotonic() < deadline and len(data) < BYTES_MOST:
            try:
                record = os.read(device, RECORD_MOST)
            except OSError as error:
                if (
                    error.errno == errno.EPIPE
                ):  # records were overwritten before they were read; the next one is there
                    continue
                if error.errno == errno.EAGAIN:
                    break
                raise
            if not record:
                break
            data += record
    finally:
        os.close(device)
    return list(_lines(bytes(data)))


def _asked(command: Sequence[str]) -> list[Line]:
    """Ask a program for this boot's messages; who may not read them is shown nothing, and mostly no error."""
    try:
        asked = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS_MOST,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return []
    lines = list(_lines(asked.stdout[-BYTES_MOST:])) if asked.returncode == 0 else []
    return [line for line in lines if not line.text.startswith("-- ")]


def _file(path: Path) -> list[Line]:
    """Read a log file's end; what it holds besides kernel messages is left out."""
    try:
        with path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - BYTES_MOST))
            data = file.read(BYTES_MOST)
    except OSError:
        return []
    return list(_lines(data, kernel=path.name != "messages"))


def _lines(data: bytes, kernel: bool = True) -> Iterator[Line]:
    """Yield lines; of a log of everything, with ``kernel=False``, those of the kernel."""
    for raw in data.decode(errors="replace").splitlines():
        # A record of /dev/kmsg goes on with " KEY=value" lines, which repeat what the record says.
        if raw and not raw.startswith(" ") and (kernel or " kernel: " in raw):
            yield parse(raw)


def _this_boot(lines: list[Line]) -> list[Line]:
    """Leave out what was written before the last start: a file may hold several."""
    begun = max((n for n, line in enumerate(lines) if line.text.startswith(BOOT)), default=0)
    return lines[begun:]


def _uptime(root: Path) -> float | None:
    try:
        word = (root / "proc/uptime").read_text().partition(" ")[0]
    except OSError:
        return None
    return float(word) if re.fullmatch(r"\d+(\.\d+)?", word) else None
