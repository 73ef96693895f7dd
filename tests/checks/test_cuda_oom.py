"""cuda-oom: seen in logs."""

EXAMPLES = [
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 3 has a total capacity of 79.15 GiB of "
    "which 1.19 GiB is free. Including non-PyTorch memory, this process has 77.95 GiB memory in use.",
    "RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.76 GiB total capacity; 9.50 GiB already "
    "allocated; 14.75 MiB free; 9.62 GiB reserved in total by PyTorch)",
    "RuntimeError: CUDA out of memory.",
    "RuntimeError: cuda runtime error (2) : out of memory at /pytorch/torch/lib/THC/generic/THCStorage.cu:58",
    "RuntimeError: CUDA error: out of memory",
    "THCudaCheck FAIL file=/pytorch/torch/lib/THC/generic/THCStorage.cu line=58 error=2 : out of memory",
    "pynvml error: CUDA_ERROR_OUT_OF_MEMORY",
]
NOT_THIS = [
    "RuntimeError: [enforce fail at alloc_cpu.cpp:73] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"
]
SAYS = {
    EXAMPLES[0]: "GPU 3 had no room for 2.00 GiB: 1.19 GiB of 79.15 GiB were free",
    EXAMPLES[1]: "GPU 0 had no room for 20.00 MiB: 14.75 MiB of 10.76 GiB were free",
    EXAMPLES[4]: "GPU had no room",
}
