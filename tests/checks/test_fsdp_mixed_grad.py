"""fsdp-mixed-grad: seen in logs."""

MESSAGE = "FSDP puts the parameters of a module into one, and here some are trained and some are frozen"
EXAMPLES = {
    "ValueError: decoder.block.3 has both parameters with requires_grad=True and False. FSDP does not support wrapping such modules when use_orig_params=False.": (
        "FSDP puts the parameters of a module into one, and here some are trained and some are frozen"
    ),
    "[rank1]: ValueError: Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`": MESSAGE,
    "ValueError: `FlatParameter` requires uniform `requires_grad`": MESSAGE,
}
NOT_THIS = [
    "ValueError: Must flatten tensors with uniform dtype but got torch.bfloat16 and torch.float32",
    "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
]
