"""Lines of ``dmesg``, ``journalctl -k`` or ``/var/log/kern.log`` that speak of GPUs and of memory -> a kernel log."""

from collections.abc import Iterable

from gpudoctor.facts import KernelLog
from gpudoctor.kernel_lines import events, parse

_SIGNS = (
    "NVRM: ", "SXid (PCI", "Out of memory: ", "emory cgroup out of memory", "oom-kill:", "blocked for more than",
    "soft lockup - CPU#", "segfault at ", "PCIe Bus Error: severity=", "mlx5_core ", "DMAR: [DMA", "IO_PAGE_FAULT",
    "FS: server ", "nfs: server ",
)  # fmt: skip
"""Words of the kernel alone: a text is prose, logs of trainings and much else."""


def read(lines: Iterable[str]) -> KernelLog | None:
    """Read what the lines say; ``None`` where no line is one of these: then nothing is known of the kernel's log.

    ``[1203914.1] NVRM: Xid (PCI:0000:90:00): 48, pid=812231, name=python3, DBE (double bit error) …``
    """
    found = events(parse(line) for line in lines if any(sign in line for sign in _SIGNS))
    return KernelLog(source="the text", events=found) if found else None
