"""What shows cuda-visible-devices-late in a log, and what does not."""

EXAMPLES = {
    "AssertionError: CUDA_VISIBLE_DEVICES was set too late: cuda:1 is still there": "CUDA_VISIBLE_DEVICES was set after CUDA had read it, so it has no effect"
}
NOT_THIS = ["CUDA_VISIBLE_DEVICES was set to 1"]
