"""alloc-conf: seen in logs."""

MESSAGE = "PYTORCH_CUDA_ALLOC_CONF does not fit this torch or this use"
EXAMPLES = {
    "ValueError: Unrecognized key 'foo' in Accelerator allocator config.": MESSAGE + ", at the option foo",
    "RuntimeError: Unrecognized CachingAllocator option: expandable_segments": (
        MESSAGE + ", at the option expandable_segments"
    ),
    "ValueError: Expected 'True' or 'False' at index 2 in ConfigTokenizer but got 'maybe'": (
        MESSAGE + ", at the value maybe"
    ),
    "ValueError: Expected 'True' or 'False' at index 2 in ConfigTokenizer but got ''True''": (
        MESSAGE + ", at the value 'True'"
    ),
    (
        'RuntimeError: i < config_.size() INTERNAL ASSERT FAILED at "/pytorch/c10/core/AllocatorConfig.h":123, please report a '
        "bug to PyTorch. Index out of bounds in ConfigTokenizer"
    ): MESSAGE,
    "ValueError: Expected closing bracket ']' in ConfigTokenizer but reached end of config": MESSAGE,
    "RuntimeError: CachingAllocator option max_split_size_mb too small, must be > 20": (
        MESSAGE + ", at the option max_split_size_mb"
    ),
    "ValueError: garbage_collect_threshold is invalid, set it in (0.0, 1.0)": (
        MESSAGE + ", at the option garbage_collect_threshold"
    ),
    "ValueError: per_process_memory_fraction is invalid, set it in [0.0, 1.0]": (
        MESSAGE + ", at the option per_process_memory_fraction"
    ),
    "RuntimeError: Error, expecting max_split_size_mb value": MESSAGE + ", at the option max_split_size_mb",
    "RuntimeError: Error parsing CachingAllocator settings, expected :": MESSAGE,
    "RuntimeError: Expected a single True/False argument for expandable_segments": (
        MESSAGE + ", at the option expandable_segments"
    ),
    "RuntimeError: For roundups, the divisons has to be power of 2 ": MESSAGE,
    "ValueError: Unknown allocator backend, options are native and cudaMallocAsync": MESSAGE,
    "RuntimeError: Allocator backend parsed at runtime != allocator backend parsed at load time, native != cudaMallocAsync": MESSAGE,
    "RuntimeError: backend:cudaMallocAsync requires CUDA runtime 11.4 or newer, but cudaDriverGetVersion returned 11000": (
        MESSAGE + ", at the option backend:cudaMallocAsync"
    ),
    "ValueError: Number of register threads has to be power of 2, got 3": MESSAGE,
    '  File "/opt/lib/torch/cuda/__init__.py", line 319, in _lazy_init\n    torch._C._cuda_init()\nValueError: stoull': (
        MESSAGE + ", at the value stoull"
    ),
    (
        "RuntimeError: Tensors allocated with expandable_segments:True cannot be shared between processes. Consider using "
        "expandable_segments:False in data loading workers"
    ): MESSAGE + ", at the option expandable_segments",
    "RuntimeError: Cannot share an expandable_segments allocation: IPC handles are disabled.": (
        MESSAGE + ", at the option expandable_segments"
    ),
    (
        "RuntimeError: The kernel on this machine does not support the pidfd_open syscall needed to use IPC for CUDA tensors "
        "when expandable_segments:True is set."
    ): MESSAGE + ", at the option expandable_segments",
    "RuntimeError: cudaMallocAsync does not yet support shareIpcHandle. If you need it, please file an issue": (
        MESSAGE + ", at the option cudaMallocAsync"
    ),
}
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
