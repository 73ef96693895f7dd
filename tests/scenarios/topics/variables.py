"""Which variables a healthy machine's torch and NCCL read: recorded from the wheels of torch 2.15 and NCCL 2.30.7."""

import json
from pathlib import Path

from gpudoctor.facts import Library, Variables
from tests.scenarios.machine import Machine

RECORDED = json.loads((Path(__file__).parent / "variables.json").read_text())
HERE = "/venv/lib/python3.11/site-packages"
OF_TORCHRUN = (
    "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS", "TORCHELASTIC_ERROR_FILE",
    "TORCHELASTIC_SIGNALS_TO_HANDLE",
)  # fmt: skip
SINCE_2_9 = ("TORCH_FR_", "PYTORCH_ALLOC_CONF")


def facts(machine: Machine) -> Variables:
    """Return the libraries of a build for CUDA, or of one without; before 2.9 without the names that came with it."""
    old = tuple(int(part) for part in machine.torch.split(".")[:2]) < (2, 9)
    libraries = []
    for path, names in RECORDED["libraries"].items():
        if machine.cuda is None and ("cuda" in path or "nccl" in path):
            continue
        names = [name for name in names if not (old and name.startswith(SINCE_2_9))]
        version = "2.30.7+cuda13.3" if "libnccl" in path else None
        libraries.append(Library(path=f"{HERE}/{path}", version=version, names=names))
    return Variables(
        libraries=libraries,
        readers={name: "torch" for name in machine.variables if name in OF_TORCHRUN},
        allocator_options=RECORDED["allocator_options"],
    )
