"""The ranks, or the program and the library, have different versions of NCCL.

## What happens

"Mismatched NCCL version detected : rank 0 version 21903 rank 8 version 22005" (2.19.3 and 2.20.5), or "NCCL library is
too old. This application was compiled with NCCL version 2.30.7, but is running with NCCL library version 2.27.3". NCCL
before 2.26 does not look: it fails with "Message truncated" or "connecting to address with family 0", or hangs.

## Why

All ranks of a communicator need the same NCCL:

- The nodes have different images or virtual environments.
- LD_LIBRARY_PATH or LD_PRELOAD brings the system's libnccl.so.2 on one node instead of the wheel's.
- One environment holds NCCL from pip and from conda, or wheels for two versions of CUDA.
- A topology file (NCCL_TOPO_FILE) was written by another version.

## How to tell

On each node: `python -c "import torch; print(torch.cuda.nccl.version())"`, and what is really loaded:
`grep libnccl /proc/PID/maps` of a rank.

## See also

- [nccl#1328](https://github.com/NVIDIA/nccl/issues/1328): a truncated message; NVIDIA suspects versions or settings
- [nccl#1267](https://github.com/NVIDIA/nccl/issues/1267): the address with family 0, ended by one version on all nodes
"""

import re
from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Severity, Sighting
from gpudoctor.facts import Distributions, Python, Ranks, Torch

VERSION = r"\d+(?:\.\d+)*"
COMPARE = Fix(
    "Compare on every node; the versions must agree",
    'python -c "import torch; print(torch.__version__, torch.cuda.nccl.version())"; '
    'echo "$LD_LIBRARY_PATH $LD_PRELOAD"',
)
UNSET = Fix("Keep the system's NCCL from being loaded before the wheel's", "unset LD_LIBRARY_PATH LD_PRELOAD")

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning in one rank's environment",
    words_stand=True,
    symptoms=[
        r"Mismatched NCCL version detected ?: rank (?P<first>\d+) version (?P<found>\d+) rank (?P<second>\d+) version (?P<other>\d+)",
        rf"NCCL version mismatch with remote peer \S{{1,80}} \(local: (?P<found>{VERSION}), remote:? (?P<other>{VERSION})\)",
        (
            rf"NCCL library is (?:too old|not backwards compatible)\. This application was compiled with NCCL version (?P<built>{VERSION}), "
            rf"but is running with NCCL library version (?P<found>{VERSION})"
        ),
        (
            rf"compiled with too old version of NCCL\.(?: It was compiled with NCCL version (?P<built>{VERSION}), "
            rf"but is running with NCCL library version (?P<found>{VERSION}))?"
        ),
        r"XML (?P<file>Topology|Graph) has wrong version (?P<built>\d+), (?P<found>\d+) needed",
        # versions without a check of their own read each other's messages wrongly
        r"bootstrap\.(?:cc|cu):\d+(?: \(\w+\))? NCCL WARN Message truncated ?: received \d+ bytes instead of \d+",
        r"socketFinalizeAccept: wrong (?P<field>type|magic) (?!4 != 3\b|3 != 4\b)\w+ != \w+",
    ],
    fixes=[
        COMPARE,
        UNSET,
        Fix(
            "Install the same on all nodes, with the NCCL that torch asks for",
            "python -m pip install --force-reinstall torch==VERSION torchvision",
        ),
        Fix("Start all nodes from one image", "docker run --gpus all --network=host --ipc=host IMAGE"),
    ],
    follows=["cuda-library-conflict"],
    no_reproduction="needs two versions of NCCL",
)


@check.log
def log(sighting: Sighting) -> Iterator[Finding]:
    """Write both versions as people do."""
    groups = sighting.groups
    found, other, built = (_readable(groups.get(name, "")) for name in ("found", "other", "built"))
    if "first" in groups:
        message = f"rank {groups['first']} has NCCL {found} and rank {groups['second']} has {other}: they must be the same"
    elif other:
        message = f"this process has NCCL {found} and another one {other}: they must be the same"
    elif "file" in groups:
        message = f"the {groups['file'].lower()} file is of version {built}, and this NCCL needs {found}"
    elif built:
        message = f"the program was compiled with NCCL {built} and runs with {found}"
    else:
        message = (
            "two processes do not understand each other's messages: another NCCL, or settings that differ"
        )
    yield check.found(message)


def _readable(version: str) -> str:
    """Write NCCL_VERSION_CODE as a version: 2.8.4 is 2804, 2.19.3 is 21903."""
    if not version.isdigit() or len(version) < 4:
        return version
    number, unit = int(version), 1000 if len(version) == 4 else 10000
    return f"{number // unit}.{number % unit // 100}.{number % 100}"


WHEEL = re.compile(r"^nvidia-nccl-cu\d+$")
PIN = re.compile(r"^(nvidia-nccl-cu\d+)\s*\(?==\s*(\d+(?:\.\d+)*)")


@check.environment
def environment(
    torch: Torch, distributions: Distributions, python: Python | None, ranks: Ranks | None
) -> Iterator[Finding]:
    """The NCCL that is loaded is not the wheel's or another rank's, or the wheel is older than torch's own."""
    pair = ranks.other(lambda rank: rank.nccl) if ranks is not None else None
    if pair is not None:
        told = " and ".join(f"NCCL {rank.nccl} (torch {rank.torch}) in {rank.report}" for rank in pair)
        yield check.found(f"the ranks have {told}: NCCL refuses ranks of another version", fixes=[COMPARE])
        return
    wheels = [d for d in distributions.installed if WHEEL.match(d.name.lower().replace("_", "-"))]
    if not torch.imported or torch.cuda is None or len(wheels) != 1:
        return
    if torch.nccl is None:
        raise CannotTell("which NCCL torch loads is not known")
    wheel, own = wheels[0], distributions.get("torch")
    pin = next((m for text in (own.pins if own else []) if (m := PIN.match(text))), None)
    # A torch that has NCCL inside, as distributions and containers build it, does not load the wheel's.
    loads = torch.libraries is None or any("/libnccl.so" in path for path in torch.libraries)
    again = (python or Python()).install_command(
        f"torch=={torch.version.partition('+')[0]} torchvision" if torch.version else "torch torchvision",
        distributions,
        reinstall=True,
    )
    install = Fix("Install torch again, with the NCCL that it asks for", again)
    if loads and _numbers(torch.nccl) != _numbers(wheel.version):
        yield check.found(
            f"torch runs with NCCL {torch.nccl}, and the installed wheel {wheel.name} is of version {wheel.version}: another "
            "libnccl.so.2 is loaded first",
            severity=Severity.WARNING,
            fixes=[COMPARE, UNSET, install],
        )
    elif pin is not None and loads and _numbers(wheel.version) < _numbers(pin[2]):
        yield check.found(
            f"{wheel.name} {wheel.version} is installed, and this torch was built with {pin[2]}: an older NCCL lacks what it "
            "may call",
            severity=Severity.WARNING,
            fixes=[install, COMPARE, UNSET],
        )


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")[:3] if part.isdecimal())
