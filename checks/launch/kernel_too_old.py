"""The machine's Linux kernel is older than what the software asks for.

## What happens

accelerate and the Trainer warn "Detected kernel version 5.4.0, which is below the recommended minimum of 5.5.0; this can
cause the process to hang". Or a program does not start at all: "FATAL: kernel too old".

## Why

- accelerate's warning is about hangs that its authors saw on old kernels with several GPUs. It looks at the number
  alone; RHEL 8 and its relatives call theirs 4.18 and bring in fixes from newer ones, and training runs on many of them.
- "FATAL: kernel too old" comes from the C library: the container's or conda's was built for a newer kernel than the host
  has. A container uses the host's kernel.

## How to tell

`uname -r`, on the node itself. A hang counts as this only when the ranks wait in the kernel (`ps -o pid,stat,wchan -u
$(id -u)` shows D) and when a newer kernel ends it; look for the other reasons first (`nccl-timeout`, `nccl-p2p`).

## See also

- [accelerate#2573](https://github.com/huggingface/accelerate/issues/2573): what is known of it, and Red Hat's kernels
- [accelerate: troubleshooting](https://huggingface.co/docs/accelerate/basic_tutorials/troubleshooting): hangs below kernel 5.5
"""

import re
from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Sighting
from gpudoctor.facts import Gpus, Host

# accelerate/utils/other.py: check_os_kernel
MINIMUM = (5, 5)
# RHEL 8 and its relatives, whose 4.18 has the fixes of newer kernels, say so in the version.
BACKPORTED = re.compile(r"\.el[89]\b|\.el[89]_")
# What CentOS 7 and Ubuntu 16.04 run, which get fixes only where somebody pays for them.
ANCIENT = (4, 14)

LOOK = Fix(
    "See which kernel this node has (`scontrol show node NODE | grep OS=` says it of another)", "uname -r"
)
OTHER = Fix("Try a node or partition with a newer system", "sbatch --exclude=NODE job.sh")
NEWER = Fix(
    "Install a kernel of 5.5 or later (Ubuntu: the HWE kernel), and restart the machine", kind=Kind.ADMIN
)
IMAGE = Fix(
    "Take an image of an older distribution, whose C library still knows this kernel",
    "docker run --gpus all --ipc=host IMAGE",
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning where accelerate says so, a note for what still gets fixes",
    symptoms=[
        r"[Dd]etected kernel version (?P<version>[\w.+-]+), which is below the recommended minimum of (?P<minimum>[\d.]*\d)",
        r"FATAL: (?P<fatal>kernel too old)",
    ],
    fixes=[LOOK, OTHER, NEWER],
    no_reproduction="needs an old kernel",
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Say that the words of accelerate are a warning, and those of the C library the end."""
    groups = sighting.groups
    if "fatal" in groups:
        message = "this program's C library was built for a newer Linux kernel than this machine runs"
        yield check.found(message, fixes=[LOOK, IMAGE, NEWER])
    else:
        message = (
            f"the kernel is {groups['version']}, and accelerate recommends {groups['minimum']} or later: with "
            "older ones training hangs on some machines, and runs on most"
        )
        yield check.found(message, severity=Severity.WARNING)


@check.environment
def environment(host: Host, gpus: Gpus | None) -> Iterator[Finding]:
    """Several GPUs under a kernel that accelerate warns of."""
    if not host.kernel and host.system in ("Linux", ""):
        raise CannotTell("which kernel runs is not known")
    version = re.match(r"(\d+)\.(\d+)", host.kernel)
    if host.system != "Linux" or version is None or gpus is None or len(gpus.devices) < 2:
        return
    number = (int(version[1]), int(version[2]))
    if number < MINIMUM and not BACKPORTED.search(host.kernel):
        message = (
            f"the kernel is {host.kernel}, and accelerate recommends 5.5 or later: with older ones training hangs "
            "on some machines, and runs on most"
        )
        yield check.found(message, severity=Severity.WARNING if number < ANCIENT else Severity.NOTE)
