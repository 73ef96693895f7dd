"""What a reproduction's script needs, held against what this machine and this Python have."""

import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from gpudoctor.facts import Driver, Torch, Torchvision
from gpudoctor.snapshot import Snapshot

GPUS = re.compile(r"(\d+) GPUs?( or simulated ones)?")
CONTROLLERS = Path("/sys/fs/cgroup")
DEADLINE = 10.0
"""Seconds for making namespaces, which takes milliseconds."""


def unmet(needs: list[str], snapshot: Snapshot) -> str | None:
    """Return what a script needs and this machine or patient does not have; ``None``: nothing is missing."""
    torch, driver, vision = snapshot.get(Torch), snapshot.get(Driver), snapshot.get(Torchvision)
    return next((f"needs {need}" for need in needs if not _met(need, torch, driver, vision)), None)


def _met(need: str, torch: Torch | None, driver: Driver | None, vision: Torchvision | None) -> bool:
    build = torch if torch is not None and torch.imported and torch.version else None
    if gpus := GPUS.fullmatch(need):
        return build is not None and (gpus[2] is not None or usable_gpus(build) >= int(gpus[1]))
    known: dict[str, bool] = {
        "torch": build is not None,
        "torchvision": build is not None and vision is not None and vision.version is not None,
        "CPU build of torch": build is not None and build.cuda is None and build.hip is None,
        "CUDA build of torch": build is not None and build.cuda is not None,
        "no NVIDIA driver": driver is not None and not driver.loaded,
        "Linux": sys.platform == "linux",
    }
    return known[need] if need in known else TRIED.get(need, lambda: _program(need) is not None)()


def to_simulate(needs: list[str], snapshot: Snapshot) -> int:
    """Return how many GPUs must be simulated for a script that runs on such, too; 0 where there are enough."""
    torch = snapshot.get(Torch)
    wanted = (int(gpus[1]) for need in needs if (gpus := GPUS.fullmatch(need)) and gpus[2])
    return next((number for number in wanted if torch is None or usable_gpus(torch) < number), 0)


def usable_gpus(torch: Torch) -> int:
    """Return how many GPUs torch can use."""
    return (torch.device_count or 0) if torch.cuda_available else 0


def is_root() -> bool:
    """Return whether this user may do what root may."""
    return os.geteuid() == 0


@functools.cache
def makes_namespaces() -> bool:
    """Return whether a mount, network, name and process namespace can be made: many containers forbid it to root."""
    # A private mount must be possible in it: mount fails where the container's profile forbids it.
    inside = ["sh", "-c", "mount -t tmpfs tmpfs /mnt && ip link set lo up"]
    command = ["unshare", "--mount", "--net", "--uts", "--pid", "--fork", "--kill-child", *inside]
    try:
        return subprocess.run(command, capture_output=True, timeout=DEADLINE, check=False).returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False


def makes_control_groups() -> bool:
    """Return whether a control group with a limit of memory and of processes can be made below this one."""
    separate = [CONTROLLERS / "memory", CONTROLLERS / "pids"]  # version 1
    if all(folder.is_dir() for folder in separate):
        return all(os.access(folder, os.W_OK) for folder in separate)
    try:
        given = (CONTROLLERS / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False
    return {"memory", "pids"} <= set(given) and os.access(CONTROLLERS, os.W_OK)


def _program(name: str) -> str | None:
    """Return the path of a program, those for administrators among them."""
    return shutil.which(name) or shutil.which(name, path="/usr/sbin:/sbin")


TRIED: dict[str, Callable[[], bool]] = {
    "root": is_root,
    "namespaces": makes_namespaces,
    "control groups": makes_control_groups,
}
