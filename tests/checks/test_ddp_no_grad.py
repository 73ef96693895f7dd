"""ddp-no-grad: seen in logs."""

MESSAGE = "no parameter of the module that DDP was given requires a gradient: there is nothing to share out"
EXAMPLES = {
    "RuntimeError: replicas_[0].size() >= 1 ASSERT FAILED at /pytorch/torch/csrc/distributed/c10d/reducer.cpp:53": MESSAGE,
    "AssertionError: DistributedDataParallel is not needed when a module doesn't have any parameters that require a gradient.": MESSAGE,
    (
        "[rank1]: RuntimeError: DistributedDataParallel is not needed when a module doesn't have any parameter that requires "
        "a gradient."
    ): MESSAGE,
    "AssertionError: DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient.": MESSAGE,
    "RuntimeError: tensors.size() > 0 INTERNAL ASSERT FAILED at /pytorch/torch/csrc/distributed/c10d/reducer.cpp:672, please report a bug to PyTorch.": MESSAGE,
}
NOT_THIS = [
    "RuntimeError: element 0 of tensors does not require grad and does not have a grad_fn",
    "ValueError: optimizer got an empty parameter list",
    "ValueError: Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`",
]
