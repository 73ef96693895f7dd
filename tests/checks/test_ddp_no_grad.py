"""ddp-no-grad: seen in logs."""

EXAMPLES = [
    (
        "[rank1]: RuntimeError: DistributedDataParallel is not needed when a module doesn't have any parameter that requires "
        "a gradient."
    ),
    "AssertionError: DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient.",
    "RuntimeError: tensors.size() > 0 INTERNAL ASSERT FAILED at /pytorch/torch/csrc/distributed/c10d/reducer.cpp:672, please report a bug to PyTorch.",
]
NOT_THIS = [
    "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
    "ValueError: optimizer got an empty parameter list",
    "ValueError: Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`",
]
