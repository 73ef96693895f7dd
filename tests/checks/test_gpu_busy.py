"""gpu-busy: seen in logs."""

EXAMPLES = [
    "[rank3]: RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable",
    (
        "RuntimeError: cuda runtime error (46) : all CUDA-capable devices are busy or unavailable at "
        "/pytorch/aten/src/THC/THCGeneral.cpp:50"
    ),
    "torch.AcceleratorError: CUDA error: CUDA-capable device(s) is/are busy or unavailable",
    "node0:4711:4811 [1] NCCL WARN Cuda failure 46 'CUDA-capable device(s) is/are busy or unavailable'",
    "Search for `cudaErrorDevicesUnavailable' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html",
    "failed to create device context: CUDA_ERROR_DEVICE_UNAVAILABLE",
    "exclusive-thread device already in use by a different thread",
    "    Compute Mode                          : Prohibited",
]
NOT_THIS = [
    "OSError: [Errno 16] Device or resource busy: '.nfs000000000000'",
    "    Compute Mode                          : Default",
    "GPU 00000000:1A:00.0: In use by another client",
    "MPS server is not ready to accept new MPS client requests",
]
SAYS = {
    EXAMPLES[0]: "the GPU admits no further process; it is in exclusive mode and taken, closed, or hangs",
    EXAMPLES[
        7
    ]: "the GPU admits no further process: its compute mode is Prohibited; it is in exclusive mode and taken, "
    "closed, or hangs",
}
