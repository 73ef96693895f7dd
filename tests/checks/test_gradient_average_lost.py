"""What shows gradient-average-lost in a log, and what does not."""

EXAMPLES = {
    "[rank0]: AssertionError: the gradients are a sum over the ranks, not their mean": "the gradients are a sum over the ranks, not their mean: the step is as many times too long as there are ranks"
}
NOT_THIS = ["the gradients are the mean over the ranks"]
