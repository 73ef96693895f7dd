"""What shows device-index-noop in a log, and what does not."""

EXAMPLES = {
    "AssertionError: local rank 1 works on cuda:0": "local rank 1 works on cuda:0: the line that should choose its GPU does nothing"
}
NOT_THIS = ["local rank 1 is on its GPU"]
