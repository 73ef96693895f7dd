"""What the kernel counts of memory: how often it killed for want of it, and the most that a child process held."""

import contextlib
import resource
import sys


def oom_kills() -> int | None:
    """Return how often the kernel has killed a process because memory had run out, in a control group too."""
    with contextlib.suppress(OSError, ValueError), open("/proc/vmstat") as counters:
        return next((int(line.split()[1]) for line in counters if line.startswith("oom_kill ")), None)
    return None


def largest_child() -> int | None:
    """Return the most memory that a process held which has ended and was waited for."""
    unit = 1 if sys.platform == "darwin" else 1024  # getrusage(2)
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * unit or None
