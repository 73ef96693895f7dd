"""Look at the file systems of training, each in a child of its own.

A network file system that does not answer holds whoever asks, and no signal ends that.
"""

import contextlib
import errno
import json
import os
import re
import select
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from gpudoctor.facts import Folder, Storage
from gpudoctor.facts.storage import NETWORKED
from gpudoctor.probes._files import text

PATIENCE = 4.0
"""Seconds that a folder is given; a healthy network file system answers within milliseconds."""
MOUNTS_MOST = 24
CACHES = (
    "HF_HOME",
    "TORCH_HOME",
    "TRITON_CACHE_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TORCH_EXTENSIONS_DIR",
    "XDG_CACHE_HOME",
)
deadline = 3 * PATIENCE
OF_THE_KERNEL = ("proc", "sysfs", "cgroup", "cgroup2")
"""File systems in which nobody makes folders for files, whatever their modes say."""


class Mount(NamedTuple):
    """A line of mountinfo (proc_pid_mountinfo(5))."""

    point: str
    kind: str
    read_only: bool
    file_system_read_only: bool
    no_exec: bool


Look = Callable[[str], dict[str, Any]]


def probe(root: Path = Path("/")) -> Storage:
    """Look at every folder at once; the mounts are read below `root`."""
    mounts = _mounts(root)
    folders = _folders(mounts)
    answers = ask([folder.path for folder in folders])
    temporary = answers.pop(TEMPORARY, {"temporary": None})
    return Storage(
        folders=[_described(folder, answers.get(folder.path), mounts) for folder in folders],
        temporary=temporary.get("temporary"),
        waited_seconds=PATIENCE,
    )


TEMPORARY = ""
"""In the place of a path: ask Python for its folder of temporary files."""


def _folders(mounts: list[Mount]) -> list[Folder]:
    """Return what is to be looked at, each path once."""
    home = os.environ.get("HOME", "")
    wanted = [
        Folder(use="working folder", path=_working_folder()),
        Folder(
            use="temporary files",
            path=os.environ.get("TMPDIR") or "/tmp",
            variable="TMPDIR" * ("TMPDIR" in os.environ),
        ),
        Folder(use="home", path=home, variable="HOME"),
    ]
    wanted += [Folder(use="cache", path=os.environ.get(name, ""), variable=name) for name in CACHES]
    wanted += [Folder(use="mount", path=m.point) for m in mounts if _networked(m.kind)][:MOUNTS_MOST]
    found: dict[str, Folder] = {}
    for folder in wanted:
        if folder.path.startswith("/"):
            found.setdefault(folder.path, folder)
    return list(found.values())


def _working_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was deleted
        return os.environ.get("PWD", "")


def _networked(kind: str) -> bool:
    return kind in NETWORKED or kind.startswith("fuse.")


def look(path: str) -> dict[str, Any]:
    """Ask a file system for its size and for what this process may do there."""
    if path == TEMPORARY:
        return {"temporary": next((folder for folder in _candidates() if _takes_files(folder)), None)}
    begun = time.monotonic()
    try:
        real = os.path.realpath(path)
        os.stat(path)
        space = os.statvfs(path)
    except OSError as error:
        told = {"error": error.strerror or str(error), "error_code": error.errno}
        return told | ({"makeable": _makeable(path)} if error.errno == errno.ENOENT else {})
    return {
        "real": real,
        "total_bytes": space.f_blocks * space.f_frsize,
        "free_bytes": space.f_bavail * space.f_frsize,
        "inodes": space.f_files or None,
        "inodes_free": space.f_favail if space.f_files else None,
        "writable": os.access(path, os.W_OK | os.X_OK),
        "seconds": round(time.monotonic() - begun, 3),
    }


def _makeable(path: str) -> bool:
    """Return whether a folder that is not there could be made: in the nearest one above it that is."""
    above = os.path.dirname(path.rstrip("/"))
    while above and above != "/" and not os.path.lexists(above):
        above = os.path.dirname(above)
    return os.path.isdir(above) and os.access(above, os.W_OK | os.X_OK)


def _candidates() -> list[str]:
    """Return where Python looks for a place for temporary files, in its order (tempfile: tempdir)."""
    named = [os.environ[name] for name in ("TMPDIR", "TEMP", "TMP") if os.environ.get(name)]
    return [*named, "/tmp", "/var/tmp", "/usr/tmp", _working_folder() or "."]


def _takes_files(folder: str) -> bool:
    """Return whether a file could be written there; Python tries it, and gpudoctor changes nothing."""
    try:
        space = os.statvfs(folder)
    except OSError:
        return False
    room = space.f_bavail > 0 and (space.f_favail > 0 or not space.f_files)
    return room and os.path.isdir(folder) and os.access(folder, os.W_OK | os.X_OK)


def ask(paths: list[str], patience: float = PATIENCE, how: Look = look) -> dict[str, dict[str, Any]]:
    """Look at all paths side by side, each in a process; what did not answer within `patience` seconds is not there."""
    running = dict(_started(path, how) for path in (*paths, TEMPORARY))
    answers: dict[str, dict[str, Any]] = {}
    until = time.monotonic() + patience
    while running and (left := until - time.monotonic()) > 0:
        ready, _, _ = select.select(list(running), [], [], left)
        for pipe in ready:
            path, pid, said = running[pipe]
            if data := os.read(pipe, 1 << 16):
                said += data
                continue
            with contextlib.suppress(ValueError):
                answers[path] = json.loads(said)
            os.waitpid(pid, 0)
            os.close(pipe)
            del running[pipe]
    for pipe, (_, pid, _) in running.items():
        os.kill(pid, signal.SIGKILL)  # where the kernel holds it, it stays until the file system answers
        os.close(pipe)
    return answers


def _started(path: str, how: Look) -> tuple[int, tuple[str, int, bytearray]]:
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        with contextlib.suppress(BaseException):
            os.close(reading)
            os.write(writing, json.dumps(how(path)).encode())
        os._exit(0)
    os.close(writing)
    return reading, (path, pid, bytearray())


def _described(folder: Folder, answer: dict[str, Any] | None, mounts: list[Mount]) -> Folder:
    real = answer.pop("real", folder.path) if answer else folder.path
    mount = _mount_of(real, mounts)
    if mount is not None:
        folder = replace(
            folder,
            mount=mount.point,
            kind=mount.kind,
            read_only=mount.read_only or mount.file_system_read_only,
            file_system_read_only=mount.file_system_read_only,
            no_exec=mount.no_exec,
        )
    if answer is not None and answer.get("makeable") and (folder.read_only or folder.kind in OF_THE_KERNEL):
        answer["makeable"] = False
    return replace(folder, **answer) if answer is not None else replace(folder, stalled=True)


def _mount_of(path: str, mounts: list[Mount]) -> Mount | None:
    """Return the mount that a path lies on: the longest, of those at one point the last."""
    over = [m for m in mounts if path == m.point or path.startswith(m.point.rstrip("/") + "/")]
    return max(enumerate(over), key=lambda pair: (len(pair[1].point), pair[0]))[1] if over else None


def _mounts(root: Path) -> list[Mount]:
    found = []
    for line in text(root / "proc/self/mountinfo").splitlines():
        front, dash, back = line.partition(" - ")
        fields, last = front.split(" "), back.split(" ")
        if not dash or len(fields) < 6 or len(last) < 3:
            continue
        # Blanks and such are written in octal, \040.
        point = re.sub(r"\\([0-7]{3})", lambda match: chr(int(match[1], 8)), fields[4])
        here, everywhere = fields[5].split(","), last[2].split(",")
        found.append(Mount(point, last[0], "ro" in here, "ro" in everywhere, "noexec" in here + everywhere))
    return found
