"""alloc-conf: seen in logs."""

EXAMPLES = [
    "ValueError: Unrecognized key 'foo' in Accelerator allocator config.",
    "RuntimeError: Unrecognized CachingAllocator option: expandable_segments",
    "ValueError: Expected 'True' or 'False' at index 2 in ConfigTokenizer but got 'maybe'",
    "ValueError: Expected 'True' or 'False' at index 2 in ConfigTokenizer but got ''True''",
    (
        'RuntimeError: i < config_.size() INTERNAL ASSERT FAILED at "/pytorch/c10/core/AllocatorConfig.h":123, please report a '
        "bug to PyTorch. Index out of bounds in ConfigTokenizer"
    ),
    "ValueError: Expected closing bracket ']' in ConfigTokenizer but reached end of config",
    "RuntimeError: CachingAllocator option max_split_size_mb too small, must be > 20",
    "ValueError: garbage_collect_threshold is invalid, set it in (0.0, 1.0)",
    "ValueError: per_process_memory_fraction is invalid, set it in [0.0, 1.0]",
    "RuntimeError: Error, expecting max_split_size_mb value",
    "RuntimeError: Error parsing CachingAllocator settings, expected :",
    "RuntimeError: Expected a single True/False argument for expandable_segments",
    "RuntimeError: For roundups, the divisons has to be power of 2 ",
    "ValueError: Unknown allocator backend, options are native and cudaMallocAsync",
    "RuntimeError: Allocator backend parsed at runtime != allocator backend parsed at load time, native != cudaMallocAsync",
    "RuntimeError: backend:cudaMallocAsync requires CUDA runtime 11.4 or newer, but cudaDriverGetVersion returned 11000",
    "ValueError: Number of register threads has to be power of 2, got 3",
    '  File "/opt/lib/torch/cuda/__init__.py", line 319, in _lazy_init\n    torch._C._cuda_init()\nValueError: stoull',
    (
        "RuntimeError: Tensors allocated with expandable_segments:True cannot be shared between processes. Consider using "
        "expandable_segments:False in data loading workers"
    ),
    "RuntimeError: Cannot share an expandable_segments allocation: IPC handles are disabled.",
    (
        "RuntimeError: The kernel on this machine does not support the pidfd_open syscall needed to use IPC for CUDA tensors "
        "when expandable_segments:True is set."
    ),
    "RuntimeError: cudaMallocAsync does not yet support shareIpcHandle. If you need it, please file an issue",
]
NOT_THIS = [
    (
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. If reserved but unallocated memory is large "
        "try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation."
    ),
    "UserWarning: expandable_segments not supported on this platform (Triggered internally at ../c10/cuda/CUDAAllocatorConfig.h:28.)",
    "Warning: PYTORCH_CUDA_ALLOC_CONF is deprecated, use PYTORCH_ALLOC_CONF instead",
    "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128",
    "ValueError: stoull",
]
SAYS = {
    EXAMPLES[
        1
    ]: "PYTORCH_CUDA_ALLOC_CONF does not fit this torch or this use, at the option expandable_segments",
    EXAMPLES[2]: "PYTORCH_CUDA_ALLOC_CONF does not fit this torch or this use, at the value maybe",
}
