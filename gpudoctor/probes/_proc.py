"""Read processes from /proc; one that ends meanwhile is left out."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gpudoctor.probes._files import text

# The variables by which a rank is known; nothing else of an environment is kept.
WANTED = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_PORT", "TORCHELASTIC_RUN_ID")


@dataclass(frozen=True)
class Entry:
    """One process as ``/proc/PID/stat`` shows it to everybody."""

    pid: int
    name: str
    state: str
    parent: int
    session: int
    threads: int
    started: int
    """Ticks since boot."""
    age_seconds: float | None
    user: int


def entries(root: Path, only: set[int] | None = None) -> Iterator[Entry]:
    """Yield the processes below `root`, or those of `only`; raises OSError where there is no /proc."""
    uptime = text(root / "proc/uptime").partition(" ")[0]
    ticks = os.sysconf("SC_CLK_TCK")
    now = float(uptime) if uptime.replace(".", "", 1).isdecimal() else None
    with os.scandir(root / "proc") as listed:
        folders = list(listed)
    for folder in folders:
        if not folder.name.isdecimal() or (only is not None and int(folder.name) not in only):
            continue
        try:
            content = Path(folder.path, "stat").read_text(errors="replace")
            user = folder.stat().st_uid
        except OSError:
            continue
        # The name stands in parentheses and may hold any character (proc_pid_stat(5)).
        front, _, rest = content.rpartition(")")
        fields = rest.split()
        if len(fields) < 20:
            continue
        started = int(fields[19])
        yield Entry(
            pid=int(folder.name),
            name=front.partition("(")[2],
            state=fields[0],
            parent=int(fields[1]),
            session=int(fields[3]),
            threads=int(fields[17]),
            started=started,
            age_seconds=None if now is None else round(max(now - started / ticks, 0.0), 1),
            user=user,
        )


def environment(root: Path, pid: int) -> dict[str, str]:
    """Return the launch variables that a process was started with; none where they may not be read."""
    pairs = (pair.partition("=") for pair in text(root / f"proc/{pid}/environ").split("\0"))
    return {name: value for name, _, value in pairs if name in WANTED}


def open_files(root: Path, pid: int) -> list[str]:
    """Return the paths of the files that a process has open; none of another user's."""
    found = []
    try:
        with os.scandir(root / f"proc/{pid}/fd") as links:
            for link in links:
                with contextlib.suppress(OSError):  # closed meanwhile
                    found.append(os.readlink(link.path))
    except OSError:
        return []
    return found
