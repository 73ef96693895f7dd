"""What shows amp-clip-unscaled in a log, and what does not."""

EXAMPLES = {
    "AssertionError: the step has length 1.4e-05: gradients were clipped while they were scaled": "gradients were clipped while they were scaled: after the division nearly nothing is left of them"
}
NOT_THIS = ["gradients were clipped after they had been unscaled"]
