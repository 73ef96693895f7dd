"""A variable has another name by now, and the old one is still read.

## What happens

Today nothing: the old name works, at most with a warning such as "Environment variable TORCH_NCCL_TRACE_BUFFER_SIZE is
deprecated; use TORCH_FR_BUFFER_SIZE instead". Where old and new name are both set, to different values, one of them has no effect.

## Why

- torch put its own NCCL_ variables under TORCH_NCCL_ in 2.2, and the flight recorder's under TORCH_FR_ in 2.9; the
  allocator's is PYTORCH_ALLOC_CONF since 2.9. Where both are set the new name wins, but for the
  allocator: torch 2.15 takes PYTORCH_CUDA_ALLOC_CONF (`alloc-conf`).
- NCCL counts rings as channels since 2.5, and as CTAs since 2.17; NCCL_MIN_NRINGS is the oldest of three names. The
  number of channels replaces that of rings. Beside one of CTAs the stricter holds: the higher of two minima, the
  lower of two maxima.

The new name does not help an older torch: scripts that serve both set both, to one value.

## How to tell

`printenv | grep -E 'NCCL|TORCH'`; the pages below have the new names.

## See also

- [NCCL variables of torch](https://docs.pytorch.org/docs/stable/torch_nccl_environment_variables.html): the names that begin with TORCH_NCCL_
- [FlightRecorder.hpp](https://github.com/pytorch/pytorch/blob/main/torch/csrc/distributed/c10d/FlightRecorder.hpp): those that begin with TORCH_FR_
- [NCCL: environment variables](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html): channels and CTAs
"""

import shlex
from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Severity
from gpudoctor.facts import RENAMED, Launch, NcclConfiguration, Variables, settings

# NCCL's documentation, env.rst: where a number of channels and one of CTAs are set, the most restrictive holds.
STRICTER = {
    "NCCL_MIN_NRINGS": "NCCL takes the higher of the two",
    "NCCL_MAX_NRINGS": "NCCL takes the lower of the two",
}

check = Check(
    severity=Severity.NOTE,
    otherwise="a warning where both names are set",
    fixes=[Fix("See which of them are set", "printenv | grep -E 'NCCL|TORCH'")],
)


@check.environment
def environment(
    launch: Launch, variables: Variables | None, configuration: NcclConfiguration | None
) -> Iterator[Finding]:
    """An old name is set, and the installed libraries hold both names."""
    known = settings(launch, configuration)
    old = [name for name in RENAMED if name in known]
    if old and variables is None:
        raise CannotTell("which variables the installed libraries read is not known")
    for name in old:
        new, setting = RENAMED[name], known[name]
        if variables is None or name not in variables.names or new not in variables.names:
            continue
        other = known.get(new)
        if other is not None and new == "PYTORCH_ALLOC_CONF":
            continue  # alloc-conf compares the two
        if other is not None and other.value != setting.value:
            message = (
                f"{setting} and {other}: they are two names of one variable, and "
                f"{STRICTER.get(name, f'the new one, {new}, wins')}"
            )
            fixes = [Fix("Leave one", f"unset {name}")]
            yield check.found(message, severity=Severity.WARNING, fixes=fixes)
        elif other is None:
            message = f"{setting}: it is {new} now; the old name is still read"
            yield check.found(message, fixes=[_rename(name, new, setting.value)])


def _rename(name: str, new: str, value: str) -> Fix:
    return Fix("Use the name of today", f"export {new}={shlex.quote(value)}; unset {name}")
