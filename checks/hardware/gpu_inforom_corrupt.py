"""A GPU's InfoROM is corrupt.

## What happens

`nvidia-smi` prints "WARNING: infoROM is corrupted at gpu 0000:3b:00.0". The GPU works on; counters of memory errors over
its life, its serial number or its power limit may be wrong or missing.

## Why

The InfoROM is a small flash memory on the board, and its content does not fit its checksum any more. The record of rows
of memory that must be remapped lies there too.

## How to tell

`nvidia-smi -q -i GPU` shows the warning and the versions of the InfoROM's parts. If it comes back after a cold start,
the vendor writes it again or exchanges the card.

## See also

- [nvidia-smi](https://docs.nvidia.com/deploy/nvidia-smi/index.html): InfoROM Version
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Gpus, Pci

check = Check(
    severity=Severity.WARNING,
    words_stand=True,
    symptoms=[
        r"(?<!if )(?<!whether )(?<!when )\b[iI]nfoROM is corrupted(?: at gpu (?P<address>[0-9a-fA-F:.]{7,16}))?(?! ?\?)"
    ],
    message="the InfoROM of the GPU[ at <address>] is corrupt: its counters of memory errors cannot be relied on",
    fixes=[
        Fix(
            "On a cluster: send the administrators the node's name and this output; training may go on",
            "nvidia-smi -q | grep -i inforom",
        ),
        Fix(
            "Shut the machine down, take its power away for a minute, and start it",
            "sudo shutdown -h now",
            Kind.ADMIN,
        ),
        Fix("If it stays, send the vendor NVIDIA's report", "sudo nvidia-bug-report.sh", Kind.ADMIN),
    ],
    no_reproduction="needs a GPU that fails",
)


@check.environment
def environment(gpus: Gpus, pci: Pci | None) -> Iterator[Finding]:
    """NVML finds the InfoROM corrupt."""
    if gpus.silence(pci):
        raise CannotTell(gpus.silence(pci))
    if corrupt := [gpu for gpu in gpus.read if gpu.inforom == "corrupt"]:
        message = f"the InfoROM of {gpus.named(corrupt)} is corrupt: its counters of memory errors cannot be relied on"
        yield check.found(message)
