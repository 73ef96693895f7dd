"""What shows scheduler-rank-local in a log, and what does not."""

EXAMPLES = {
    "[rank0]: AssertionError: the ranks have different learning rates: [0.1, 0.001]": "the ranks have different learning rates: each decided by its own validation loss"
}
NOT_THIS = ["the ranks have one learning rate"]
