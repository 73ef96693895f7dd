"""inplace-gradient: seen in logs."""

LINE = (
    "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: "
    "[torch.cuda.FloatTensor [64]] is at version 3; expected version 2 instead. Hint: enable anomaly detection"
)
MESSAGE = "an operation in place changed a value (a leaf) that the backward pass still needs"
EXAMPLES = {
    "RuntimeError: leaf variable has been moved into the graph interior": MESSAGE,
    (
        "[rank0]: RuntimeError: one of the variables needed for gradient computation has been modified by an inplace "
        "operation: [torch.cuda.FloatTensor [256, 512]], which is output 0 of AsStridedBackward0, is at version 2; expected "
        "version 1 instead. Hint: the backtrace further above shows the operation that failed to compute its gradient."
    ): (
        "an operation in place changed a value of size [256, 512] (the output of AsStridedBackward0) that the "
        "backward pass still needs"
    ),
    (
        "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: "
        "[torch.cuda.FloatTensor [64, 3, 3, 3]] is at version 2; expected version 1 instead."
    ): "an operation in place changed a value of size [64, 3, 3, 3] that the backward pass still needs",
    LINE: "an operation in place changed a value of size [64] that the backward pass still needs",
    "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation": (
        "an operation in place changed a value that the backward pass still needs"
    ),
    "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace\nwhat is it?": (
        "an operation in place changed a value that the backward pass still needs"
    ),
    "RuntimeError: a leaf Variable that requires grad is being used in an in-place operation.": MESSAGE,
    "RuntimeError: a view of a leaf Variable that requires grad is being used in an in-place operation.": (
        "an operation in place changed a value (a view of a leaf) that the backward pass still needs"
    ),
    "RuntimeError: a leaf Variable that requires grad has been used in an in-place operation.": MESSAGE,
    (
        "RuntimeError: Output 0 of SplitBackward is a view and is being modified inplace. This view is the output of a function "
        "that returns multiple views. Such functions do not allow the output views to be modified inplace."
    ): (
        "an operation in place changed a value (the output of SplitBackward) that the backward pass still needs"
    ),
    "RuntimeError: Output 0 of ViewBackward0 is a view and its base or another view of its base has been modified inplace.": (
        "an operation in place changed a value (the output of ViewBackward0) that the backward pass still needs"
    ),
    "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: [torch.FloatTensor [1, 32,3,3]] is at version 2; expected version 1 instead.": (
        "an operation in place changed a value of size [1, 32,3,3] that the backward pass still needs"
    ),
}
NOT_THIS = [
    f"torch.distributed.launch is deprecated\n{LINE}",
    f"[rank1]: {LINE}",
    (
        "UserWarning: Output 0 of SplitBackward is a view and is being modified inplace. This view is an output of a function "
        "that returns multiple views. Inplace operators on such views are being deprecated and will be forbidden starting"
    ),
    "RuntimeError: Output 0 of BroadcastBackward is a view and is being modified inplace.",
    "RuntimeError: Inference tensors cannot be saved for backward. To work around you can make a clone.",
]
