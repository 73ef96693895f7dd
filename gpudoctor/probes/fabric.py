"""Look for the programs of NVLink fabrics among the processes, and for what they need."""

import re
from pathlib import Path

from gpudoctor.facts import Fabric

MANAGER, IMEX = "nv-fabricmanager", "nvidia-imex"
NAME_MOST = 15
"""Characters of a process's name that the kernel keeps (TASK_COMM_LEN)."""
TAIL = 64 * 1024
"""Bytes at the end of a log that are read."""
ERROR = re.compile(r"\[ERROR\]|don't match|\bfail(?:ed|ure)\b|aborting", re.IGNORECASE)


def probe(root: Path = Path("/")) -> Fabric:
    """Read ``/proc``, ``/dev`` and the services' files below `root`."""
    running = _running(root / "proc")
    channels = root / "dev/nvidia-caps-imex-channels"
    return Fabric(
        manager=MANAGER[:NAME_MOST] in running if running else None,
        manager_installed=(root / "usr/bin" / MANAGER).exists(),
        manager_said=_last_error(root / "var/log/fabricmanager.log"),
        imex=IMEX[:NAME_MOST] in running if running else None,
        imex_channels=len(list(channels.glob("channel*"))) if channels.is_dir() else None,
        imex_nodes=_nodes(root / "etc/nvidia-imex/nodes_config.cfg"),
    )


def _running(proc: Path) -> set[str]:
    """Return the names of all processes; none where the kernel's own are not among them.

    A container and a /proc mounted with hidepid show some processes only, and what is not shown may run all the same.
    """
    names = set()
    for folder in proc.glob("[0-9]*"):
        try:
            names.add((folder / "comm").read_text(errors="replace").strip())
        except OSError:  # it has ended, or is another user's
            continue
    return names if "kthreadd" in names else set()


def _last_error(path: Path) -> str:
    try:
        with path.open("rb") as log:
            log.seek(0, 2)
            log.seek(max(0, log.tell() - TAIL))
            lines = log.read().decode(errors="replace").splitlines()
    except OSError:
        return ""
    return next((line.strip()[:300] for line in reversed(lines) if ERROR.search(line)), "")


def _nodes(path: Path) -> int | None:
    try:
        lines = path.read_text(errors="replace").splitlines()
    except OSError:
        return None
    return sum(1 for line in lines if line.strip() and not line.lstrip().startswith("#"))
