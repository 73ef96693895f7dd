"""NCCL finds no room on the GPU for its own buffers.

## What happens

"NCCL WARN Cuda failure 2 'out of memory'", then "Failed to CUDA calloc 6291456 bytes"; torch raises "unhandled cuda
error", and what it asks for is often a few bytes. It comes at the first collective of a process group.

## Why

NCCL allocates outside PyTorch's caching allocator, some hundred MB for a communicator and more with many groups:

- PyTorch's allocator has taken everything by the time the communicator is made: a large batch, a late first collective.
- Many process groups: tensor, pipeline and expert parallel, each with communicators of its own.
- All ranks work on GPU 0, or another process holds the memory (`gpu-memory-held`).

## How to tell

`nvidia-smi --query-compute-apps=gpu_uuid,pid,used_memory --format=csv` just before it fails: one process per GPU, and
nearly nothing free. `torch.cuda.memory_reserved()` says what PyTorch keeps, used or not.

## See also

- [NCCL_BUFFSIZE](https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/env.html#nccl-buffsize): the size of its buffers
- [CUDA memory management](https://docs.pytorch.org/docs/stable/notes/cuda.html#memory-management): what torch keeps, and empty_cache
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        # in nvls.cc it is the NVSwitches' memory: nccl-nvls
        r"(?<!nvls)\.(?:cc|cu|h|c|hpp):\d+(?: \(\w+\))? NCCL WARN (?:Cuda|CUDA|HIP) failure (?:\d+ )?'out of memory'",
        r"(?<!WARN )\b(?:Cuda|HIP) failure (?:\d+ )?'out of memory'",
        # any failure of CUDA ends in this line; memory is meant where no other one is named
        Symptom(
            r"Failed to CUDA (?:calloc|malloc|host alloc)(?: async)? (?P<bytes>\d+) bytes",
            unless=r"(?:Cuda|HIP) failure (?:\d+ )?'(?!out of memory)",
        ),
        r"cudaMalloc current failed with out of memory size (?P<bytes>\d+)",  # 2.30
    ],
    message="NCCL found no room on the GPU[ for <bytes> bytes]: its buffers lie outside PyTorch's memory pool",
    follows=["cuda-oom", "gpu-memory-held"],
    fixes=[
        Fix(
            "Make the communicators before the model fills the GPU",
            'dist.init_process_group("nccl", device_id=torch.device("cuda", local_rank))  # torch 2.3 or later',
            Kind.EDIT,
        ),
        Fix(
            "See who holds the memory",
            "nvidia-smi --query-compute-apps=gpu_uuid,pid,process_name,used_memory --format=csv",
        ),
        Fix(
            "Take a smaller batch, or leave a part of each GPU to others than PyTorch",
            "torch.cuda.set_per_process_memory_fraction(0.92)",
            Kind.EDIT,
            proof="torch.cuda.set_per_process_memory_fraction(0.92)",
        ),
        Fix("Give back what PyTorch keeps unused, before a new group", "torch.cuda.empty_cache()", Kind.EDIT),
        Fix(
            "Make NCCL's buffers and number of channels smaller; collectives get slower",
            "export NCCL_BUFFSIZE=2097152 NCCL_MAX_NCHANNELS=8",
            Kind.MITIGATION,
        ),
    ],
)
