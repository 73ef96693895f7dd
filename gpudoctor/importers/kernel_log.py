"""Lines of ``dmesg``, ``journalctl -k`` or ``/var/log/kern.log`` that speak of GPUs and of memory -> a kernel log."""

import re
from collections.abc import Iterable

from gpudoctor.facts import KernelLog
from gpudoctor.kernel_lines import events, parse

_SIGNS = (
    "NVRM: ", "NVRM RmInit", "SXid (PCI", "Out of memory: ", "emory cgroup out of memory", "oom-kill:",
    "blocked for more than", "soft lockup - CPU#", "segfault at ", "PCIe Bus Error: severity=", "mlx5_core ",
    "DMAR: [DMA", "IO_PAGE_FAULT", "FS: server ", "nfs: server ",
)  # fmt: skip
"""Words of the kernel alone: a text is prose, logs of trainings and much else."""

# /proc/driver/nvidia/version, and what the module writes when it is loaded
_MODULE = re.compile(
    r"NVRM(?: version)?:? +(?:loading )?NVIDIA UNIX (?:Open )?(?:Kernel Module for )?(?:x86_64|aarch64)"
    r"(?: Kernel Module)? +(?P<version>\d{3}\.\d{1,3}(?:\.\d{1,3})?)\b"
)


def driver_version(lines: Iterable[str]) -> str | None:
    """Return the version of the kernel module that the lines show; ``None`` where they show none.

    ``NVRM: loading NVIDIA UNIX x86_64 Kernel Module  510.73.08  Wed May 18 20:34:44 UTC 2022``
    """
    for line in lines:
        if "NVRM" in line and (match := _MODULE.search(line[:400])):
            return match["version"]
    return None


def read(lines: Iterable[str]) -> KernelLog | None:
    """Read what the lines say; ``None`` where no line is one of these: then nothing is known of the kernel's log.

    ``[1203914.1] NVRM: Xid (PCI:0000:90:00): 48, pid=812231, name=python3, DBE (double bit error) …``
    """
    found = events(parse(line) for line in lines if any(sign in line for sign in _SIGNS))
    return KernelLog(source="the text", events=found) if found else None
