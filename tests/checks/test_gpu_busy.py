"""gpu-busy: seen in logs."""

MESSAGE = "the GPU admits no further process; it is in exclusive mode and taken, closed, or hangs"
EXAMPLES = {
    "[rank3]: RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable": MESSAGE,
    (
        "RuntimeError: cuda runtime error (46) : all CUDA-capable devices are busy or unavailable at "
        "/pytorch/aten/src/THC/THCGeneral.cpp:50"
    ): MESSAGE,
    "torch.AcceleratorError: CUDA error: CUDA-capable device(s) is/are busy or unavailable": MESSAGE,
    "node0:4711:4811 [1] NCCL WARN Cuda failure 46 'CUDA-capable device(s) is/are busy or unavailable'": MESSAGE,
    "Search for `cudaErrorDevicesUnavailable' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html": MESSAGE,
    "failed to create device context: CUDA_ERROR_DEVICE_UNAVAILABLE": MESSAGE,
    "exclusive-thread device already in use by a different thread": MESSAGE,
    "    Compute Mode                          : Prohibited": (
        "the GPU admits no further process: its compute mode is Prohibited; it is in exclusive mode and taken, "
        "closed, or hangs"
    ),
}
NOT_THIS = [
    "OSError: [Errno 16] Device or resource busy: '.nfs000000000000'",
    "    Compute Mode                          : Default",
    "GPU 00000000:1A:00.0: In use by another client",
    "MPS server is not ready to accept new MPS client requests",
]
