"""What shows split-unseeded in a log, and what does not."""

EXAMPLES = {
    "[rank0]: AssertionError: the ranks split the data differently, so one trains on what another holds out": "the ranks split the data differently: some train on what others hold out"
}
NOT_THIS = ["the ranks split the data alike"]
