"""NCCL was asked for in a process that sees no GPU.

## What happens

`init_process_group("nccl")` raises "ProcessGroupNCCL is only supported with GPUs, no GPUs found!", or with torch 2.15
"nccl2 requires at least one CUDA device".

## Why

NCCL moves data between GPUs only, and `torch.cuda.device_count()` is 0 in this process:

- The container or job was started without GPUs: no `--gpus all`, no `--gres=gpu:N`, or it runs on a login node.
- CUDA_VISIBLE_DEVICES is empty or names a GPU that is not there.
- The driver is not usable; a warning "CUDA initialization: …" is then further up.
- torch is a CPU build.

## How to tell

In the same container or job step, run `python -c "import torch; print(torch.version.cuda, torch.cuda.device_count())"`,
`nvidia-smi -L` and `echo "$CUDA_VISIBLE_DEVICES"`. `None` is a CPU build. GPUs in `nvidia-smi` and a count of 0
mean the variable or the driver; no GPU in either means that none was handed to the job.

## See also

- [Which backend to use](https://docs.pytorch.org/docs/stable/distributed.html#which-backend-to-use): NCCL with GPUs, gloo without
"""

from collections.abc import Iterator

from gpudoctor import Check, Finding, Fix, Kind, Severity
from gpudoctor.facts import Gpus, Launch, Pci, Torch

check = Check(
    severity=Severity.ERROR,
    otherwise="a warning or a note before the training",
    symptoms=[
        r"ProcessGroupNCCL is only supported with GPUs, no GPUs found",
        r"device_id \S{1,20} is out of range\. .{0,80}number of accelerators available: 0\b",
        r"nccl2 requires at least one CUDA device",  # torch 2.15
    ],
    message="NCCL moves data between GPUs only, and this process sees none",
    follows=[
        "driver-not-loaded",
        "driver-library-mismatch",
        "cuda-driver-too-old",
        "cuda-init-failed",
        "fabric-manager-down",
        "container-lost-gpu",
        "gpu-fell-off-bus",
        "torch-cpu-build",
        "cuda-visible-devices",
    ],
    fixes=[
        Fix(
            "See what this process has: a CUDA build of torch, GPUs, and a variable that hides them",
            'python -c "import torch; print(torch.version.cuda, torch.cuda.device_count())"; '
            'nvidia-smi -L; echo "CUDA_VISIBLE_DEVICES=[$CUDA_VISIBLE_DEVICES]"',
        ),
        Fix("Hand the GPUs to the container", "docker run --gpus all --ipc=host IMAGE"),
        Fix("Ask Slurm for GPUs", "srun --gres=gpu:2 torchrun --standalone --nproc-per-node=2 train.py"),
        Fix("Take away a variable that hides them", "unset CUDA_VISIBLE_DEVICES"),
        Fix(
            "Train on the CPU where there is no GPU; this is slow",
            'dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")',
            Kind.MITIGATION,
            proof='dist.init_process_group("nccl" if torch.cuda.is_available() else "gloo")',
        ),
    ],
)


# Variables by which a job is told of its GPUs; without any, ranks may well train on the CPU.
PROMISES = (
    "SLURM_GPUS_ON_NODE",
    "SLURM_JOB_GPUS",
    "SLURM_STEP_GPUS",
    "SLURM_GPUS_PER_TASK",
    "NVIDIA_VISIBLE_DEVICES",
)


@check.environment
def environment(launch: Launch, torch: Torch, pci: Pci | None, gpus: Gpus | None) -> Iterator[Finding]:
    """Ranks that are told how to use NCCL stand on a machine without a GPU."""
    told = [name for name in launch.variables if name.startswith("NCCL_")]
    if not told or (launch.number("WORLD_SIZE") or 1) < 2 or torch.device_count != 0 or not torch.cuda:
        return
    if pci is None or pci.usable or (gpus is not None and gpus.devices):
        return  # with a GPU there, another check says why it cannot be used
    message = f"{told[0]} is set and the launch has {launch.number('WORLD_SIZE')} ranks, and no GPU is here for NCCL to use"
    promised = any(launch.variables.get(name, "") not in ("", "0", "-1", "void", "none") for name in PROMISES)
    yield check.found(message, severity=Severity.WARNING if promised else Severity.NOTE)
