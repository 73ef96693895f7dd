"""flash-attn-missing: seen in logs."""

MESSAGE = "the model asks for FlashAttention, which is not there"
EXAMPLES = {
    "ImportError: This file requires the following packages that were not found in your environment: flash_attn, timm.": (
        "the model asks for FlashAttention, which is not there: there is no flash_attn"
    ),
    "ImportError: FlashAttention2 has been toggled on, but it cannot be used due to the following error: the package flash_attn seems to be not installed. Please refer to the documentation": (
        MESSAGE + ": the package flash_attn seems to be not installed"
    ),
    "ImportError: FlashAttention2 has been toggled on, but the current version of `kernels` does not offer it": MESSAGE,
    "ValueError: the package `flash_attn_3` seems to be not installed": MESSAGE,
    "ModuleNotFoundError: No module named 'flash_attn'": MESSAGE + ": there is no flash_attn",
    "ModuleNotFoundError: No module named 'flash_attn_2_cuda'": MESSAGE + ": there is no flash_attn_2_cuda",
    "ImportError: Flash Attention 2 is not available. Please install it": MESSAGE,
    "AssertionError: FlashAttention is not installed": MESSAGE,
    "ImportError: The long pass requires flash-attn (>=2.5).": (
        "the model asks for FlashAttention, which is not there"
    ),
}
NOT_THIS = [
    "You are attempting to use Flash Attention 2 without specifying a torch dtype.",
    "RuntimeError: FlashAttention only supports Ampere GPUs or newer.",
    "flash attention is not available here, using sdpa",
]
