"""nccl-no-gpu: seen in logs."""

EXAMPLES = [
    "RuntimeError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!",
    "[rank0]: ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!",
    "[rank1]: RuntimeError: nccl2 requires at least one CUDA device",
    "ValueError: Cuda is not available.",
]
NOT_THIS = [
    "RuntimeError: Distributed package doesn't have NCCL built in",
    "RuntimeError: No CUDA GPUs are available",
    "GPU available: False, used: False",
    "torch.cuda is not available, training on the CPU",
]
