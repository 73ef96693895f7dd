"""Read the NVIDIA kernel module's version and its device nodes."""

import os
import re
from pathlib import Path

from gpudoctor.facts import DeviceNode, Driver

# "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.183.01  Sun May 12 ..."; the open module says
# "NVIDIA UNIX Open Kernel Module for x86_64  580.82.07  Release Build ..."
EVERYBODY = 0o006
VERSION = re.compile(r"\s(\d{3,}\.\d+(?:\.\d+)?)\s")


def probe(root: Path = Path("/")) -> Driver:
    """Read ``/proc/driver/nvidia``, ``/sys/module/nvidia`` and ``/dev/nvidia*`` below `root`."""
    description = _first_line(root / "proc/driver/nvidia/version")
    match = VERSION.search(description or "")
    return Driver(
        version=match[1] if match else None,
        module_version=_first_line(root / "sys/module/nvidia/version"),
        description=(description or "").removeprefix("NVRM version:").strip(),
        nodes=[
            DeviceNode(
                path=f"/dev/{node.name}",
                readable=os.access(node, os.R_OK),
                writable=os.access(node, os.W_OK),
                device=node.is_char_device(),
                open_to_all=_mode(node) & EVERYBODY == EVERYBODY,
            )
            for node in sorted((root / "dev").glob("nvidia*"))
            if not node.is_dir()
        ],
        dxg=(root / "dev/dxg").exists(),
    )


def _mode(path: Path) -> int:
    try:
        return path.stat().st_mode
    except OSError:
        return 0


def _first_line(path: Path) -> str | None:
    try:
        lines = path.read_text().splitlines()
    except FileNotFoundError:
        return None
    return lines[0].strip() if lines else None
