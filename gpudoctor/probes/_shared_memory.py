"""Find what dead processes left in /dev/shm."""

import os
import re
import time
from collections.abc import Iterable
from pathlib import Path

from gpudoctor.facts import SharedSegment
from gpudoctor.probes._files import text
from gpudoctor.probes._proc import Entry, open_files

# NCCL's own (misc/shmutils.cc), and torch's of both sharing strategies: torch_PID_RANDOM_NUMBER.
SEGMENT = re.compile(r"nccl-[\w-]+|torch_\d+_\d+(?:_\d+)?")
FIRST_NAMESPACE = "pid:[4026531836]"
"""The PID namespace of the machine itself (PROC_PID_INIT_INO in linux/proc_ns.h)."""
KEEPER = "torch_shm_manag"
"""torch's process that deletes segments when their owner is dead; the kernel cuts names at 15 characters."""


def abandoned(root: Path, entries: Iterable[Entry]) -> list[SharedSegment]:
    """Return the segments that no process has open or mapped; torch's not while its keeper is there.

    Whose processes cannot be read, may use one: of other users' segments only root can tell. In a container that shares
    the host's /dev/shm, they may belong to processes outside it.
    """
    found = []
    for file in _segments(root / "dev/shm"):
        try:
            status = file.stat(follow_symlinks=False)
        except OSError:
            continue
        found.append((file.name, status))
    if not found or _shared_with_others(root):
        return []
    user = os.geteuid()
    entries = list(entries)
    kept = any(entry.name.startswith(KEEPER) for entry in entries)
    used = _in_use(root, entries) if user == 0 else _in_use(root, (e for e in entries if e.user == user))
    return [
        SharedSegment(
            name=name,
            bytes=status.st_blocks * 512 or status.st_size,
            age_seconds=round(max(time.time() - status.st_mtime, 0.0), 1),
            same_user=status.st_uid == user,
        )
        for name, status in found
        if name not in used and user in (0, status.st_uid) and not (kept and name.startswith("torch_"))
    ]


def _segments(folder: Path) -> list["os.DirEntry[str]"]:
    try:
        with os.scandir(folder) as files:
            return sorted((f for f in files if SEGMENT.fullmatch(f.name)), key=lambda f: f.name)
    except OSError:
        return []


def _shared_with_others(root: Path) -> bool:
    """Return whether processes that cannot be seen from here may use /dev/shm: it is that of another PID namespace."""
    try:
        if os.readlink(root / "proc/self/ns/pid") == FIRST_NAMESPACE:
            return False
    except OSError:
        return True
    # A container's own /dev/shm is a mount of its own, which docker and containerd call "shm".
    mounts = [line for line in text(root / "proc/self/mountinfo").splitlines() if " /dev/shm " in line]
    return not any(line.rpartition(" - ")[2].split()[1:2] == ["shm"] for line in mounts)


def _in_use(root: Path, entries: Iterable[Entry]) -> set[str]:
    """Return the names of the segments that processes have mapped or open."""
    used = set()
    for entry in entries:
        folder = root / f"proc/{entry.pid}"
        used.update(re.findall(r"/dev/shm/(\S+)", text(folder / "maps")))
        links = (link.partition("/dev/shm/")[2] for link in open_files(root, entry.pid))
        used.update(link.partition(" ")[0] for link in links if link)
    return used
