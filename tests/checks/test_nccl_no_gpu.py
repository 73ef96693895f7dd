"""nccl-no-gpu: seen in logs."""

MESSAGE = "NCCL moves data between GPUs only, and this process sees none"
EXAMPLES = {
    "RuntimeError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!": MESSAGE,
    "[rank0]: ValueError: ProcessGroupNCCL is only supported with GPUs, no GPUs found!": MESSAGE,
    "[rank1]: RuntimeError: nccl2 requires at least one CUDA device": MESSAGE,
}
NOT_THIS = [
    "ValueError: Cuda is not available.",
    "RuntimeError: Distributed package doesn't have NCCL built in",
    "RuntimeError: No CUDA GPUs are available",
    "GPU available: False, used: False",
    "torch.cuda is not available, training on the CPU",
]
