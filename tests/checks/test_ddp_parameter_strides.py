"""ddp-parameter-strides: seen in logs."""

EXAMPLES = {
    (
        "[rank1]: RuntimeError: params[0] in this process with sizes [4, 4, 3, 3] appears not to match strides of the same "
        "param in process 0."
    ): "parameter 0, with sizes [4, 4, 3, 3], has other strides on this rank than on rank 0",
    (
        "RuntimeError: replicas[0][12] in this process with strides [36, 9, 3, 1] appears not to match strides of the same "
        "param in process 0."
    ): "parameter 12, with strides [36, 9, 3, 1], has other strides on this rank than on rank 0",
    (
        "RuntimeError: [2]: params[127] in this process with sizes [256, 256, 1, 1] appears not to match strides of the same "
        "param in process 0."
    ): "parameter 127, with sizes [256, 256, 1, 1], has other strides on this rank than on rank 0",
}
NOT_THIS = [
    "UserWarning: Grad strides do not match bucket view strides. This may indicate grad was not created according to the",
    "RuntimeError: [1]: params[0] in this process with sizes [5, 4] appears not to match sizes of the same param in process 0.",
]
