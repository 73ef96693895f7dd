"""model-moved-after-wrap: seen in logs."""

EXAMPLES = {
    "[rank0]: AssertionError: DDP no longer sums the gradients of these parameters": "the ranks' weights differ: parameters were moved or converted after DDP had put its hooks on them"
}
NOT_THIS = ["DDP sums the gradients of these parameters"]
