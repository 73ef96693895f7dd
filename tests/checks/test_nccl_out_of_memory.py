"""nccl-out-of-memory: seen in logs."""

MESSAGE = "NCCL found no room on the GPU: its buffers lie outside PyTorch's memory pool"
EXAMPLES = {
    "node0:4711:4790 [0] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'": MESSAGE,
    "[2026-09-01 08:30:11] node0:812:860 [0] transport/net.cc:700 (sendProxyConnect) NCCL WARN Cuda failure 2 'out of memory'": MESSAGE,
    "[rank2]: Cuda failure 2 'out of memory'": MESSAGE,
    "node0:4711:4790 [0] enqueue.cc:43 NCCL WARN HIP failure 'out of memory'": MESSAGE,
    "[rank0]: Last error:\n[rank0]: Failed to CUDA calloc async 608 bytes": (
        "NCCL found no room on the GPU for 608 bytes: its buffers lie outside PyTorch's memory pool"
    ),
    "node0:4711:4790 [0] include/alloc.h:185 NCCL WARN Failed to CUDA host alloc 4194304 bytes": (
        "NCCL found no room on the GPU for 4194304 bytes: its buffers lie outside PyTorch's memory pool"
    ),
    "node0:812:860 [0] gin/gin.cc:120 NCCL WARN cudaMalloc current failed with out of memory size 4194304": (
        "NCCL found no room on the GPU for 4194304 bytes: its buffers lie outside PyTorch's memory pool"
    ),
}
NOT_THIS = [
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.",
    "node0:4711:4790 [3] transport/nvls.cc:169 NCCL WARN Cuda failure 2 'out of memory'",
    "node0:4711:4790 [0] misc/shmutils.cc:72 NCCL WARN Error while creating shared memory segment /dev/shm/nccl-QzyPHX (size 9637888)",
    "Cuda failure 36 'API call is not supported in the installed CUDA driver'\nFailed to CUDA calloc async 608 bytes",
]
