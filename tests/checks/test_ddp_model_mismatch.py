"""ddp-model-mismatch: seen in logs."""

EXAMPLES = {
    "# DDP expects same model across all ranks": "the ranks built different models",
    (
        "[rank1]: RuntimeError: DDP expects same model across all ranks, but Rank 1 has 4 params, while rank 0 has "
        "inconsistent 2 params."
    ): "the ranks built different models: rank 1 has 4 trainable parameters, rank 0 has 2",
    "RuntimeError: [1]: params[0] in this process with sizes [5, 4] appears not to match sizes of the same param in process 0.": (
        "the ranks built different models: parameter 0 has the sizes [5, 4] here, and others on rank 0"
    ),
    (
        "RuntimeError: replicas[0][75] in this process with sizes [10, 20] appears not to match sizes of the same param in "
        "process 0."
    ): "the ranks built different models: parameter 75 has the sizes [10, 20] here, and others on rank 0",
    "RuntimeError: disagreement between rank0 and rank3: rank0: [1, 5], rank3: [1, 4]": (
        "the ranks built different models: rank 3 and rank 0 disagree"
    ),
    "RuntimeError: [2]: params[4] in this process with shape [16, 8] appears not to match shape of the same param in process 0.": "the ranks built different models: parameter 4 has the sizes [16, 8] here, and others on rank 0",
}
NOT_THIS = [
    "RuntimeError: DDP expects same model across all ranks, but Rank 0 has 161 params, while rank 1 has inconsistent 0 params.",
    "RuntimeError: params[0] in this process with sizes [4, 4, 3, 3] appears not to match strides of the same param in process 0.",
    "size mismatch for fc.weight: copying a param with shape torch.Size([10, 4]) from checkpoint",
]
