"""What shows gradient-not-averaged in a log, and what does not."""

EXAMPLES = {
    "[rank0]: AssertionError: the ranks trained models of their own": "the ranks' weights differ: nothing averages their gradients"
}
NOT_THIS = ["the ranks trained one model"]
