"""nccl-driver-unsupported: seen in logs."""

MESSAGE = (
    "the NVIDIA driver lacks a call that NCCL needs: API call is not supported in the installed CUDA driver"
)
EXAMPLES = {
    "gpu-03:811:902 [2] misc/cudawrap.cc:20 NCCL WARN CUDA some PFN functions not found in the library": (
        "the NVIDIA driver lacks a call that NCCL needs: CUDA some PFN functions not found in the library"
    ),
    "gpu-03:811:902 [2] misc/strongstream.cc:40 NCCL WARN NCCL cannot be captured in a graph if either it wasn't built with CUDA runtime >= 11.3 or if the installed CUDA driver < R465.": (
        "the NVIDIA driver lacks a call that NCCL needs: R465 is the oldest that has it"
    ),
    "node0:4711:4790 [0] enqueue.cc:802 NCCL WARN Cuda failure 'API call is not supported in the installed CUDA driver'": MESSAGE,
    "[rank0]: Cuda failure 36 'API call is not supported in the installed CUDA driver'": MESSAGE,
    "RuntimeError: CUDA error: API call is not supported in the installed CUDA driver": MESSAGE,
    "Search for `cudaErrorCallRequiresNewerDriver' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html": (
        "the NVIDIA driver lacks a call that NCCL needs: cudaErrorCallRequiresNewerDriver"
    ),
    "node0:4711:4711 [0] init.cc:416 NCCL WARN Cuda failure 801 'operation not supported'": (
        "the NVIDIA driver lacks a call that NCCL needs: operation not supported"
    ),
    "[rank0]: Cuda failure 801 'operation not supported'": (
        "the NVIDIA driver lacks a call that NCCL needs: operation not supported"
    ),
    "NCCL WARN The installed CUDA driver is older than the minimum version (R465) required for NCCL's CUDA Graphs support": (
        "the NVIDIA driver lacks a call that NCCL needs: R465 is the oldest that has it"
    ),
    "node0:4711:4711 [0] misc/cudawrap.cc:110 NCCL WARN Failed to load CUDA missing symbol cuGetProcAddress": (
        "the NVIDIA driver lacks a call that NCCL needs: cuGetProcAddress"
    ),
}
NOT_THIS = [
    "RuntimeError: The NVIDIA driver on your system is too old (found version 11040).",
    "node0:4711:4711 [0] NCCL INFO cudaDriverVersion 12020",
    "node0:4711:4711 [0] NCCL INFO DMA-BUF is not available on GPU device 0",
    "node0:4711:4790 [0] transport/nvls.cc:244 NCCL WARN Cuda failure 801 'operation not supported'",
]
