"""One process opens peer access to more GPUs than a GPU can have.

## What happens

"peer mapping resources exhausted": "Cuda failure 711" from NCCL, "CUDA error" from torch, "cuda runtime error (60)"
until torch 1.4, CUDA_ERROR_TOO_MANY_PEERS from TensorFlow. It comes on machines with more than eight GPUs.

## Why

Without NVSwitch, a GPU can have at most eight peers mapped at a time. A process that works with ten or sixteen GPUs
(`nn.DataParallel`, `device_map="auto"`, `all_reduce_perf -g 10`) asks for more.

## How to tell

`nvidia-smi -L | wc -l` says more than eight, and one process sees them all. With
`CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7` the same program works.

## See also

- [CUDA: systems with several GPUs](https://docs.nvidia.com/cuda/cuda-programming-guide/03-advanced/multi-gpu-systems.html): the limit of eight peers without NVSwitch
- [nccl-tests#324](https://github.com/NVIDIA/nccl-tests/issues/324): ten GPUs in one process
"""

from gpudoctor import Check, Fix, Kind, Severity

check = Check(
    severity=Severity.ERROR,
    symptoms=[
        r"peer mapping resources exhausted",
        r"CUDA_ERROR_TOO_MANY_PEERS|cudaErrorTooManyPeers|hipErrorTooManyPeers",
    ],
    message="this process uses more GPUs than the eight peers that a GPU can have without NVSwitch",
    fixes=[
        Fix(
            "Start one process per GPU, each with DistributedDataParallel",
            "torchrun --nproc-per-node=gpu train.py",
        ),
        Fix("Or give the process eight GPUs", "export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7"),
        Fix(
            "Keep NCCL from mapping peers; this is slower, and does not always suffice",
            "export NCCL_P2P_DISABLE=1 NCCL_CUMEM_ENABLE=0",
            Kind.MITIGATION,
        ),
    ],
    no_reproduction="needs more than 8 GPUs",
)
