"""nccl-duplicate-gpu: seen in logs."""

MESSAGE = "two ranks share one GPU, and NCCL needs one for each rank"
EXAMPLES = {
    "it says rank 5 and rank 1 both on CUDA device b1000": (
        "two ranks, 5 and 1, share one GPU (PCI bus b1000), and NCCL needs one for each rank"
    ),
    "node0:4711:4790 [0] init.cc:521 NCCL WARN Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1a000": (
        "two ranks, 1 and 0, share one GPU (PCI bus 1a000), and NCCL needs one for each rank"
    ),
    "[rank0]: Duplicate GPU detected : rank 0 and rank 1 both on CUDA device 40": (
        "two ranks, 0 and 1, share one GPU (PCI bus 40), and NCCL needs one for each rank"
    ),
    (
        "[2026-09-01 08:30:11] node0:812:812 [0] init.cc:1290 (initTransportsRank) NCCL WARN Multiple Ranks are using the same "
        "GPU/Partition. Set NCCL_MULTI_RANK_GPU_ENABLE=1 to enable this configuration."
    ): MESSAGE,
    (
        'node0:812:812 [0] transport/nvls.cc:210 (ncclNvlsInit) NCCL WARN NCCL_NVLS_ENABLE has been set to "1" and communicator '
        "has multiple ranks using the same NVML device. This is not compatible with NCCL_NVLS_ENABLE=1."
    ): MESSAGE,
    (
        "[rank1]:[W1102 10:00:00.000000000 IntraNodeComm.cpp:141] Skipping IntraNodeComm::rendezvous() because participants have "
        "overlapping devices. To resolve this, call torch.cuda.set_device() before init_process_group()."
    ): MESSAGE,
}
NOT_THIS = [
    "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable",
    "node0:4711:4790 [1] NCCL INFO comm 0x5581 rank 1 nranks 2 cudaDev 1 nvmlDev 1 busId 1b000 commId 0x9 - Init COMPLETE",
    "using GPU 0 to perform barrier as devices used by this process are currently unknown.",
    (
        "[rank1]: CUDA_VISIBLE_DEVICES=MIG-3f2b9c1d-0000-0000-0000-000000000000\n"
        "[rank1]: Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1a000"
    ),
]
