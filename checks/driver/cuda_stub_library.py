"""A stub, or a compatibility library, is loaded instead of the driver's libcuda.

## What happens

CUDA says "CUDA driver is a stub library" (error 34), or "forward compatibility was attempted on non supported HW" (804),
or "system has unsupported display driver / cuda driver combination" (803), while `nvidia-smi` works.

## Why

libcuda.so.1 belongs to the driver and must come from it. Two others exist. The CUDA toolkit's folder `stubs` holds one
without any code, for linking on a machine without a driver. The folder `compat` (package cuda-compat) holds the one of a
newer driver, which works on data centre GPUs and with some older drivers alone. LD_LIBRARY_PATH, or a line in
`/etc/ld.so.conf.d`, puts one of them first: many images do.

## How to tell

`echo $LD_LIBRARY_PATH; ldconfig -p | grep libcuda.so.1` shows what is found first;
`python -c "import ctypes; print(ctypes.CDLL('libcuda.so.1').cuInit(0))"` prints the code, 0 where all is well.

## See also

- [Forward compatibility](https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html): on which GPUs and drivers it works
- [CUDA errors](https://docs.nvidia.com/cuda/cuda-runtime-api/cuda_runtime_api/group__CUDART__TYPES.html): every code
"""

import shlex
from collections.abc import Iterator
from pathlib import PurePath

from gpudoctor import CannotTell, Check, Evidence, Finding, Fix, Kind, Severity
from gpudoctor.facts import Cuda, Launch

STUB = 34  # CUDA_ERROR_STUB_LIBRARY
SUCCESS = 0
NOT_ON_THIS_DEVICE = 804  # CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE

LINKER = Fix(
    "Where LD_LIBRARY_PATH does not name it: find the line of the linker's configuration that does, and remove it",
    "grep -rn 'stubs\\|compat' /etc/ld.so.conf.d/ && sudo ldconfig",
    Kind.ADMIN,
)
UNSET = Fix(
    "Take it off the path, and start the training again",
    "unset LD_LIBRARY_PATH LD_PRELOAD",
    proof="unset LD_LIBRARY_PATH",
)

check = Check(
    severity=Severity.ERROR,
    follows=["driver-not-loaded", "container-without-gpus"],
    fixes=[UNSET, LINKER],
)


@check.environment
def environment(cuda: Cuda, launch: Launch | None) -> Iterator[Finding]:
    """The libcuda that is loaded lies among stubs, or among compatibility libraries that do not work here."""
    if cuda.library is None and cuda.error is None and cuda.init is None:
        raise CannotTell("which libcuda.so.1 is loaded is not known")
    folders = {*PurePath(cuda.library or "").parts[:-1]}
    if cuda.init == STUB or "stubs" in folders:
        what, why = "a stub without any code", "it can start no GPU"
    elif "compat" in folders and cuda.init not in (SUCCESS, None):
        what, why = "a compatibility library", f"cuInit gives error {cuda.init} with it on this machine"
    elif cuda.init == NOT_ON_THIS_DEVICE and cuda.library is not None:
        what, why = "the library of a newer driver", "this GPU supports no forward compatibility (error 804)"
    else:
        return
    variables = launch.variables if launch else {}
    names = [n for n in ("LD_LIBRARY_PATH", "LD_PRELOAD") if _brings(variables.get(n, ""), cuda.library)]
    evidence = [Evidence(f"{name}={variables[name]}") for name in names]
    fixes = [_without(name, variables[name], cuda.library) for name in names]
    place = f"is {cuda.library}, " if cuda.library else "that is loaded is "
    yield check.found(
        f"libcuda.so.1 {place}{what} instead of the driver's: {why}",
        evidence=evidence,
        fixes=[*fixes, LINKER] if fixes else None,
    )


def _brings(value: str, library: str | None) -> bool:
    """Return whether a path of folders or files leads to a library."""
    folder = str(PurePath(library or "/").parent)
    return any(entry.rstrip("/") in (folder, library) for entry in value.split(":") if entry)


def _without(name: str, value: str, library: str | None) -> Fix:
    folder = str(PurePath(library or "/").parent)
    left = ":".join(e for e in value.split(":") if e and e.rstrip("/") not in (folder, library))
    command = f"export {name}={shlex.quote(left)}" if left else f"unset {name}"
    return Fix(f"Take it off {name}, and start the training again", command)
