"""What shows sampler-set-epoch in a log, and what does not."""

EXAMPLES = {
    "[rank1]: AssertionError: every epoch has the same order": "the sampler yields the same order in every epoch: set_epoch is not called"
}
NOT_THIS = ["every epoch has another order", "sampler.set_epoch(epoch)"]
