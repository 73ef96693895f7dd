"""keys-differ-by-rank: seen in logs."""

MESSAGE = "the ranks have different losses to sum up"
EXAMPLES = {
    "AssertionError: loss log variables are different across GPUs!": MESSAGE,
    (
        "[rank0]: AssertionError: loss log variables are different across GPUs!\n"
        "[rank0]: rank 0 len(log_vars): 2 keys: loss_cls,loss_mask"
    ): MESSAGE + ": rank 0 has 2, namely loss_cls,loss_mask",
}
NOT_THIS = [
    "log_vars: loss_cls, loss_mask",
    "DDP expects same model across all ranks, but Rank 1 has 4 params, while rank 0 has inconsistent 2 params.",
]
