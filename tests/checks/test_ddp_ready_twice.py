"""ddp-ready-twice: seen in logs."""

MESSAGE = "the gradient of a parameter came twice in one backward pass, and DDP had summed it already"
EXAMPLES = {
    (
        "[rank0]: RuntimeError: Expected to mark a variable ready only once. This error is caused by one of the following "
        "reasons: 1) Use of a module parameter outside the `forward` function. Please make sure model parameters are not "
        "shared across multiple concurrent forward-backward passes. or try to use _set_static_graph() as a workaround"
    ): MESSAGE,
    (
        "RuntimeError: Expected to mark a variable ready only once. This error is caused by use of a module parameter outside "
        "the `forward` function."
    ): MESSAGE,
    (
        "[rank1]: Parameter at index 1 with name l.bias has been marked as ready twice. This means that multiple autograd "
        "engine  hooks have fired for this particular parameter during this iteration."
    ): (
        "the gradient of a parameter (index 1), l.bias, came twice in one backward pass, and DDP had summed it "
        "already"
    ),
    (
        "Parameter at index 55 has been marked as ready twice. This means that multiple autograd engine  hooks have fired for "
        "this particular parameter during this iteration. You can set the environment variable TORCH_DISTRIBUTED_DEBUG"
    ): (
        "the gradient of a parameter (index 55) came twice in one backward pass, and DDP had summed it already"
    ),
    (
        "RuntimeError: Expected to mark a variable ready only once. This error is caused by one of the following reasons:\n"
        "Parameter at index 1 with name l.bias has been marked as ready twice. This means that multiple autograd engine"
    ): (
        "the gradient of a parameter (index 1), l.bias, came twice in one backward pass, and DDP had summed it "
        "already"
    ),
}
NOT_THIS = [
    (
        "RuntimeError: Trying to backward through the graph a second time (or directly access saved tensors after they have "
        "already been freed)."
    ),
    "RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one.",
    "UserWarning: torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly.",
]
