"""illegal-memory-access: seen in logs."""

MESSAGE = "a kernel touched memory that is not its own"
EXAMPLES = {
    "RuntimeError: cuda runtime error (77)": MESSAGE,
    "[rank3]: torch.AcceleratorError: CUDA error: an illegal memory access was encountered": MESSAGE,
    "RuntimeError: cuda runtime error (77) : an illegal memory access was encountered at /pytorch/aten/src/THC/THCCachingHostAllocator.cpp:265": MESSAGE,
    "  what():  CUDA error: an illegal memory access was encountered (insert_events at /pytorch/c10/cuda/CUDACachingAllocator.cpp:569)": MESSAGE,
    "RuntimeError: Triton Error [CUDA]: an illegal memory access was encountered": MESSAGE,
    "cupy_backends.cuda.api.driver.CUDADriverError: CUDA_ERROR_ILLEGAL_ADDRESS": MESSAGE,
    "Memory access fault by GPU node-1 (Agent handle: 0x55d0) on address 0x7f10. Reason: Page not present or supervisor privilege.": (
        "a kernel on GPU 1 touched memory that is not its own"
    ),
    "========= Invalid __global__ read of size 4 bytes": MESSAGE + ", with a read of 4 bytes",
    "terminate: CUDA error 700 at allocator.cu:31": MESSAGE,
}
NOT_THIS = [
    "RuntimeError: CUDA error: device-side assert triggered",
    "RuntimeError: CUDA error: misaligned address",
    "RuntimeError: CUDA error: uncorrectable ECC error encountered",
    "Fatal Python error: Segmentation fault",
]
