"""NCCL is told to print, or to dump, more than a training needs.

## What happens

Each rank prints hundreds of lines at the start, and with TRACE, or with the subsystems COLL, CALL, PROXY, TUNING or ALL,
lines for every collective: logs of gigabytes, ranks that wait for the terminal or the file server, and the one line that
matters in the middle of it. A NCCL_DEBUG_FILE without `%h` and `%p` is written by all ranks at once, each over the other.

## Why

NCCL_DEBUG=INFO was set to find one failure and stayed in the script, the image or `/etc/nccl.conf`. WARN prints nothing unless
something fails, and is the value to leave; NCCL_WARN_ENABLE_DEBUG_INFO=1 of a recent NCCL switches to INFO when it does.

## How to tell

`printenv | grep NCCL_`; `cat /etc/nccl.conf ~/.nccl.conf`. "NCCL INFO" in the log of a healthy run is all of it.

## See also

- [NCCL_DEBUG](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-debug): levels, subsystems, files
"""

import re
from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Severity
from gpudoctor.facts import Gpus, Launch, NcclConfiguration, Pci, Torch, for_processors_alone, settings

# src/debug.cc: what prints with every collective or message; the others print when a communicator is made.
EACH_TIME = {"COLL", "CALL", "PROXY", "TUNING", "ALL"}
DUMPS = ("NCCL_TOPO_DUMP_FILE", "NCCL_GRAPH_DUMP_FILE")
NCCL_FILE = "export NCCL_DEBUG_FILE=/tmp/nccl.%h.%p.log"
QUIET = Fix(
    "Let NCCL speak when something fails", "export NCCL_DEBUG=WARN; unset NCCL_DEBUG_SUBSYS NCCL_DEBUG_FILE"
)

check = Check(
    severity=Severity.NOTE,
    otherwise="a warning for what prints lines at every call",
    fixes=[QUIET],
)


@check.environment
def environment(
    launch: Launch,
    configuration: NcclConfiguration | None,
    torch: Torch | None,
    gpus: Gpus | None,
    pci: Pci | None,
) -> Iterator[Finding]:
    """NCCL_DEBUG is above WARN, or a dump is asked for."""
    known = settings(launch, configuration)
    nobody = for_processors_alone(torch, gpus, pci)  # then there is no NCCL to print
    level = known.get("NCCL_DEBUG")
    loud = level is not None and level.value.strip().upper() in ("INFO", "TRACE", "ABORT")
    if level is not None and loud:
        subsystems = known.get("NCCL_DEBUG_SUBSYS")
        words = _each_time(subsystems.value) if subsystems is not None else []
        if level.value.strip().upper() == "TRACE":
            message = f"{level}: NCCL prints lines for every call, in every rank, which costs time"
            severity = Severity.WARNING
        elif words:
            message = f"{level} with {subsystems}: {', '.join(words)} prints lines for every collective, in every rank"
            severity = Severity.WARNING
        else:
            message = (
                f"{level}: every rank prints hundreds of lines at the start; WARN is what a training needs"
            )
            severity = Severity.NOTE
        yield check.found(message, severity=Severity.NOTE if nobody else severity, fixes=[QUIET])
    file = known.get("NCCL_DEBUG_FILE")
    if file is not None and (loud or (level is not None and level.value.strip().upper() == "WARN")):
        if file.value.startswith("~"):
            message = f"{file}: NCCL does not know ~, cannot open the file, and prints to standard output without a word"
            yield check.found(
                message, fixes=[Fix("Write the path out", 'export NCCL_DEBUG_FILE="$HOME/nccl.%h.%p.log"')]
            )
        elif configuration is not None and (why := configuration.refusal(file)):
            message = (
                f"{file}: the file cannot be made ({why}), and NCCL prints to standard output without a word"
            )
            yield check.found(message, fixes=[Fix("Name a folder that every rank may write to", NCCL_FILE)])
        elif "%p" not in file.value and not re.match(r"/dev/std|/proc/", file.value):
            message = f"{file}: all ranks of a machine write this one file, each over the others; %h and %p stand for host and process"
            yield check.found(message, fixes=[Fix("One file for each rank", NCCL_FILE)])
    for name in DUMPS:
        if name in known and known[name].value:
            message = f"{known[name]}: NCCL writes a dump at every start"
            yield check.found(message, fixes=[Fix(known[name].removal(), known[name].removal_command)])


def _each_time(value: str) -> list[str]:
    """Return the subsystems that print all the time; ``^`` takes those named out of all."""
    named = {word.strip().upper() for word in value.lstrip("^").split(",")}
    return sorted(EACH_TIME - named - {"ALL"} if value.startswith("^") else named & EACH_TIME)
