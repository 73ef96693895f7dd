"""torch is built without NCCL, which GPUs need to train together.

## What happens

`init_process_group("nccl")` raises "Distributed package doesn't have NCCL built in". `nn.DataParallel` warns "PyTorch
is not compiled with NCCL support" and copies between GPUs in a slower way.

## Why

NCCL exists on Linux alone: torch for Windows and macOS never has it. On Linux a CPU build has none, and a build from
source made with USE_NCCL=0 or USE_DISTRIBUTED=0 has none (wheels for Jetson among them). Scripts written for a
cluster name "nccl" whatever they run on.

## How to tell

`python -c 'import torch.distributed as d; print(d.is_nccl_available())'`. If `torch.version.cuda` is None too, the
failure is the CPU build, and NCCL comes with the right one.

## See also

- [Backends](https://docs.pytorch.org/docs/stable/distributed.html#backends): which one runs where
- [torch's setup.py](https://github.com/pytorch/pytorch/blob/main/setup.py): USE_SYSTEM_NCCL and other build variables
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Distributions, Gpus, Host, Launch, Python, Torch

GLOO = Fix(
    "Choose the backend that this build has",
    'init_process_group("nccl" if torch.distributed.is_nccl_available() else "gloo")',
    Kind.EDIT,
    proof='is_nccl_available() else "gloo"',
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning with one GPU, a note with none and on Windows and macOS",
    symptoms=[
        r"Distributed package doesn't have NCCL (\" \")?built in",
        r"PyTorch is not compiled with NCCL support",
        r"NCCL support is not compiled",
        r"(cannot import name|has no attribute) 'ProcessGroupNCCL'",
        r"the distributed NCCL backend is not available",  # torch 0.4 (THD)
        r"module \'torch\._C\' has no attribute \'_nccl_\w+\'",
    ],
    message="this torch has no NCCL: it is a CPU build, one for Windows or macOS, or one that was made without "
    "it",
    fixes=[
        GLOO,
        Fix(
            "On Linux: install a build that has NCCL",
            "python -m pip install --force-reinstall torch torchvision",
        ),
    ],
)


@check.environment
def environment(
    torch: Torch,
    gpus: Gpus | None,
    host: Host | None,
    launch: Launch | None,
    python: Python | None,
    distributions: Distributions | None,
) -> Iterator[Finding]:
    """A CUDA build of torch has torch.distributed, and no NCCL in it."""
    if not torch.imported:
        raise CannotTell("torch was not imported, so its backends are not known")
    if torch.cuda is None:
        return  # a CPU build; on a machine with GPUs that is the failure
    if torch.nccl_available is None:
        raise CannotTell("whether this torch has NCCL is not known")
    if torch.nccl_available or torch.distributed_available is False:
        return
    count = max(len(gpus.devices) if gpus else 0, torch.device_count or 0)
    several = count > 1 or (launch is not None and (launch.nodes or 1) > 1)
    message = f"torch {torch.version} is built for CUDA {torch.cuda} without NCCL"
    if host and host.system in ("Windows", "Darwin"):
        if several:
            message = (
                f"{message}, which does not exist on {host.system}: training on {count} GPUs goes over gloo"
            )
            yield check.found(message, severity=Severity.NOTE, fixes=[GLOO])
        return
    patient = python or Python()
    again = patient.install_command("torch torchvision", distributions, reinstall=True)
    severity = Severity.ERROR if several else Severity.WARNING if count else Severity.NOTE
    where = f": init_process_group('nccl') fails on the {count} GPUs of this machine" if count > 1 else ""
    yield check.found(
        message + where, severity=severity, fixes=[Fix("Install a build that has NCCL", again), GLOO]
    )
