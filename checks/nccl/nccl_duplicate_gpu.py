"""Two ranks use the same GPU.

## What happens

NCCL says "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1a000" (since 2.30 "Multiple Ranks are using
the same GPU/Partition"), and torch raises "invalid usage". The number is the GPU's PCI address in hexadecimal.

## Why

Each rank of a communicator needs a GPU of its own. Usually:

- Nobody calls `torch.cuda.set_device(local_rank)`, so `.cuda()` means GPU 0 in every rank.
- The global RANK is used instead of LOCAL_RANK, or LOCAL_RANK is not read at all.
- There are more ranks than GPUs, or CUDA_VISIBLE_DEVICES has one and the same GPU for all of them.
- Several containers share a GPU (time slicing), or two nodes have one host name, so that NCCL takes them for one.

## How to tell

Print in each rank `os.environ["LOCAL_RANK"], torch.cuda.current_device(), os.environ.get("CUDA_VISIBLE_DEVICES")`
before `init_process_group`: the pairs must differ within a node. `nvidia-smi -L | wc -l` must not be less than
`--nproc-per-node`.

## See also

- [init_process_group](https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group): each process must have its GPUs for itself
"""

from gpudoctor import Check, Fix, Kind, Severity, Symptom
from gpudoctor.wordings import MIG_SLICE

# Before 2.30, NCCL takes two instances of one GPU for the same device: mig-multi-gpu.

check = Check(
    severity=Severity.ERROR,
    follows=["rank-device-unset", "device-ids-literal"],
    symptoms=[
        Symptom(
            r"Duplicate GPU detected ?(?:: rank (?P<first>\d+) and rank (?P<second>\d+) both on \w+ device (?P<bus>\w+))?",
            unless=MIG_SLICE,
        ),
        Symptom(
            r"\brank (?P<first>\d+) and rank (?P<second>\d+) both on \w+ device (?P<bus>\w+)",
            unless=MIG_SLICE,
        ),
        Symptom(r"Multiple Ranks are using the same GPU/Partition", unless=MIG_SLICE),  # NCCL 2.30
        r"communicator has multiple ranks using the same NVML device",
        # torch's own warning of it, before NCCL fails
        r"IntraNodeComm::rendezvous\(\) because participants have overlapping devices",
    ],
    message="two ranks[, <first> and <second>,] share one GPU[ (PCI bus <bus>)], and NCCL needs one for each rank",
    fixes=[
        Fix(
            "Give each rank its GPU before the first CUDA call",
            'local_rank = int(os.environ["LOCAL_RANK"])\ntorch.cuda.set_device(local_rank)\n'
            'dist.init_process_group("nccl", device_id=torch.device("cuda", local_rank))',
            Kind.EDIT,
            proof='torch.device("cuda", local_rank)',
        ),
        Fix(
            "Start as many ranks as this process sees GPUs",
            "torchrun --standalone --nproc-per-node=gpu train.py",
        ),
        Fix(
            "On a machine of your own: let all GPUs be seen (under a scheduler they may be other users')",
            "unset CUDA_VISIBLE_DEVICES",
        ),
        Fix(
            "Only to test a program with more ranks than GPUs: allow it (NCCL 2.30 or later; slow)",
            "export NCCL_MULTI_RANK_GPU_ENABLE=1",
            Kind.MITIGATION,
        ),
    ],
)
