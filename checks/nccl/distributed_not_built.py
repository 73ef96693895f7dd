"""torch was built without torch.distributed, or without the requested backend.

## What happens

"module 'torch.distributed' has no attribute 'init_process_group'", or an import of transformers or torchao ends with
"No module named 'torch._C._distributed_c10d'". For a single backend: "Distributed package doesn't have MPI built in".

## Why

- The wheel was built with USE_DISTRIBUTED=0: some wheels for Jetson, for ROCm on Windows, and old ones for macOS.
- A torch of your own was built without it, or without MPI: MPI is never part of the wheels, UCC and XCCL of few.
- torch 1.7 for Windows meets in a file alone, and says "No rendezvous handler for env://"; 1.8 has the others.
- A library takes torch.distributed for granted, even on one device.

## How to tell

`python -c "import torch.distributed as d; print(d.is_available())"` prints False. If it prints True, the missing name
is newer than this torch (`torch-too-old`), or a backend alone is missing: `d.is_mpi_available()`, `d.is_gloo_available()` and so on.

## See also

- [Backends that come with PyTorch](https://docs.pytorch.org/docs/stable/distributed.html#backends-that-come-with-pytorch): on which systems it is available
- [pytorch#53135](https://github.com/pytorch/pytorch/issues/53135): No rendezvous handler for env://, on Windows
- [detr#43](https://github.com/facebookresearch/detr/issues/43): no attribute init_process_group, on Windows
"""

from collections.abc import Iterator

from gpudoctor import CannotTell, Check, Finding, Fix, Kind, Severity, Symptom
from gpudoctor.facts import Distributions, Gpus, Launch, Python, Torch

# Names that torch.distributed has had since 1.0 to 1.4: where one is missing, the package is.
OLD = (
    r"(?:init_process_group|destroy_process_group|is_initialized|get_rank|get_world_size|get_backend|new_group|group|"
    r"ReduceOp|Backend|barrier|all_reduce|all_gather|broadcast|FileStore|TCPStore|PrefixStore|Store|Work|ProcessGroup)"
)
OTHER_BACKEND = Fix(
    "Choose a backend that the build has",
    'dist.init_process_group("nccl" if dist.is_nccl_available() else "gloo")',
    Kind.EDIT,
)
ALONE = Fix(
    "On one device, do without it",
    "if dist.is_available() and dist.is_initialized():\n    dist.all_reduce(loss)",
    Kind.EDIT,
)

check = Check(
    severity=Severity.ERROR,
    otherwise="a note on one GPU",
    follows=["torch-shadowed"],
    symptoms=[
        rf"module '?torch\.distributed'? has no attribute '(?P<name>{OLD})'",
        rf"cannot import name '(?P<name>{OLD})' from '?torch\.distributed'?(?![.\w])",
        # Python 3.6 and before do not say from where
        Symptom(rf"cannot import name '(?P<name>{OLD})'(?! from )", near=r"from torch\.distributed import"),
        r"cannot import name '(?P<name>FileStore)'(?! from (?!'?torch))",
        r"No module named '?(?P<name>torch\._C\._distributed_c10d)",
        r"module '?torch\._C'? has no attribute '(?P<name>_c10d_init|_distributed_c10d)'",
        # torch 1.7 for Windows, which meets in a file alone
        r"No rendezvous handler for (?P<rendezvous>env|tcp)://",
        r"Requires distributed package to be available",
        r"\b[Dd]istributed package is not available",
        r"torch\.distributed(?:\.is_available\(\) is False| is not available\b)",
        r"Distributed package doesn't have (?P<backend>MPI|UCC|XCCL|Gloo|GLOO) built in",
        r"(?:Error|Exception): (?:Torch distributed|Distributed torch|torch\.distributed\.\w{2,20}) is not available",
        r"`?torch\.distributed`{0,2} must be used\. However, it is not available in your installation",
        r"requires (?P<backend>XCCL|NCCL|UCC|MPI|GLOO), which is not available in this PyTorch build",
    ],
    message=(
        "this build of torch lacks[ the rendezvous by <rendezvous>:// (for Windows it came with torch 1.8) of][ the backend <backend> of][ <name>, and with it] torch.distributed: "
        "no process group can be made with it"
    ),
    fixes=[
        Fix(
            "See what this build has",
            'python -c "import torch, torch.distributed as d; print(torch.__version__, d.is_available())"',
        ),
        Fix(
            "Install a build with torch.distributed; on Jetson take NVIDIA's or your own, built with USE_DISTRIBUTED=1",
            "python -m pip install --force-reinstall torch torchvision torchaudio",
        ),
        OTHER_BACKEND,
        ALONE,
    ],
    no_reproduction="needs a torch without torch.distributed",
)


@check.environment
def environment(
    torch: Torch,
    gpus: Gpus | None,
    launch: Launch | None,
    python: Python | None,
    distributions: Distributions | None,
) -> Iterator[Finding]:
    """The build has no torch.distributed at all."""
    if not torch.imported or torch.version is None:
        raise CannotTell("torch was not imported, so what it was built with is not known")
    if torch.distributed_available is None:
        raise CannotTell("whether this torch has torch.distributed is not known")
    if torch.distributed_available:
        return
    count = max(len(gpus.devices) if gpus else 0, torch.device_count or 0)
    ranks = (launch.number("WORLD_SIZE") or 1) if launch else 1
    needed = count > 1 or ranks > 1 or (launch is not None and (launch.nodes or 1) > 1)
    patient = python or Python()
    again = patient.install_command("torch torchvision", distributions, reinstall=True)
    yield check.found(
        f"torch {torch.version} was built without torch.distributed: no process group can be made with it",
        severity=None if needed else Severity.NOTE,
        fixes=[Fix("Install a build with torch.distributed", again), OTHER_BACKEND, ALONE],
    )
