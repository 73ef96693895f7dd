"""no-bf16: seen in logs."""

START = "bfloat16 is asked for, and this device does not have it"
MESSAGE = START + ": the GPU is older than Ampere, or no GPU is seen"
EXAMPLES = {
    "ValueError: Your setup doesn't support bf16/gpu. You need torch>=1.10, using Ampere GPU with cuda>=11.0": MESSAGE,
    "ValueError: Your setup doesn't support bf16/gpu. You need Ampere+ GPU with cuda>=11.0": MESSAGE,
    "RuntimeError: Current CUDA Device does not support bfloat16. Please switch dtype to float16.": MESSAGE,
    "ValueError: bf16 mixed precision requires PyTorch >= 1.10 and a supported device.": MESSAGE,
    (
        "ValueError: Bfloat16 is only supported on GPUs with compute capability of at least 8.0. Your Tesla V100-SXM2-32GB "
        "GPU has compute capability 7.0. You can use float16 instead"
    ): (
        START
        + " (Tesla V100-SXM2-32GB, compute capability 7.0; 8.0 is needed): the GPU is older than Ampere, or no GPU "
        "is seen"
    ),
    "AssertionError: BF16 is not supported on this device": MESSAGE,
    "ValueError: Type bf16 is not supported.": MESSAGE,
    "AssertionError: bfloat16 autocast requires CUDA with native bfloat16 support": (
        "bfloat16 is asked for, and this device does not have it: the GPU is older than Ampere, or no GPU is seen"
    ),
}
NOT_THIS = [
    "Using bfloat16 Automatic Mixed Precision (AMP)",
    "FlashAttention only supports Ampere GPUs or newer.",
    "ValueError: FP8 is only supported on GPUs with compute capability of at least 8.9",
]
