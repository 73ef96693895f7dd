"""What shows local-rank-as-rank in a log, and what does not."""

EXAMPLES = {
    "[rank0]: AssertionError: two ranks take the same share of the data": "two ranks take the same share of the data: the local rank, which starts at 0 on each node, stands where the rank is meant"
}
NOT_THIS = ["two ranks take other shares of the data"]
