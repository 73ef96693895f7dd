"""What shows sampler-missing in a log, and what does not."""

EXAMPLES = {
    "[rank0]: AssertionError: ranks 0 and 1 are given the same samples": "ranks 0 and 1 are given the same samples: their loaders have no sampler that divides the data"
}
NOT_THIS = ["ranks 0 and 1 are given other samples"]
