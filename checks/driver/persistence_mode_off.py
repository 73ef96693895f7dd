"""Persistence mode is off: the driver shuts idle GPUs down.

## What happens

`nvidia-smi` and the first CUDA call of a job take seconds per GPU when nothing else runs. Settings such as power limits
are lost between jobs, and NVSwitch boards may need to be set up again.

## Why

Without persistence the driver shuts a GPU down when its last user ends, and starts it again for the next one. Servers
keep it running, by `nvidia-persistenced`; workstations with a display need nothing, the display is a user.

## How to tell

`nvidia-smi --query-gpu=index,persistence_mode --format=csv` shows it for each GPU; `time nvidia-smi` shows what it costs.

## See also

- [Driver persistence](https://docs.nvidia.com/deploy/driver-persistence): the daemon, and the older mode
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Gpus, Pci

# Cards with a display connector: a desktop keeps the driver's state.
DISPLAY = ("GeForce", "TITAN", "Quadro", "RTX")

check = Check(
    severity=Severity.NOTE,
    fixes=[
        Fix(
            "On a cluster: send the administrators the node's name and this output",
            "nvidia-smi --query-gpu=index,persistence_mode --format=csv",
        ),
        Fix(
            "Start the daemon, now and at each boot",
            "sudo systemctl enable --now nvidia-persistenced",
            Kind.ADMIN,
        ),
    ],
    no_reproduction="needs a GPU, and root",
)


@check.environment
def environment(gpus: Gpus, pci: Pci | None) -> Iterator[Finding]:
    """Persistence is off for a GPU of a server."""
    if gpus.silence(pci):
        raise CannotTell(gpus.silence(pci))
    off = [
        gpu for gpu in gpus.read if gpu.persistence is False and not any(word in gpu.name for word in DISPLAY)
    ]
    if off:
        message = f"persistence mode is off for {gpus.named(off)}: the first CUDA call of each job waits until the driver has started them"
        yield check.found(message)
