"""What shows loss-logged-per-rank in a log, and what does not."""

EXAMPLES = {
    "[rank0]: AssertionError: the loss that rank 0 logs is not the mean of the ranks": "rank 0 logs the loss of its own samples, not the mean of all ranks"
}
NOT_THIS = ["the loss that rank 0 logs is the mean of the ranks"]
