"""batchnorm-single-sample: seen in logs."""

EXAMPLES = {
    '"Expected more than 1 value per channel when training" in the last batch': (
        "a normalisation layer in training got an input with a single value per channel, which has no spread"
    ),
    "[rank1]: ValueError: Expected more than 1 value per channel when training, got input size torch.Size([1, 256, 1, 1])": (
        "a normalisation layer in training got an input of size [1, 256, 1, 1] with a single value per channel, "
        "which has no spread"
    ),
    "ValueError: Expected more than 1 value per channel when training, got input size [1, 3]": (
        "a normalisation layer in training got an input of size [1, 3] with a single value per channel, which has "
        "no spread"
    ),
    "ValueError: Expected more than 1 spatial element when training, got input size torch.Size([1, 3, 1, 1])": (
        "a normalisation layer in training got an input of size [1, 3, 1, 1] with a single value per channel, "
        "which has no spread"
    ),
    "ValueError: final batch=1 at this size gives BatchNorm a single value per channel; change batch": (
        "a normalisation layer in training got an input with a single value per channel, which has no spread"
    ),
}
NOT_THIS = [
    (
        "ValueError: Caught ValueError in replica 1 on device 1.\nOriginal Traceback (most recent call last):\n"
        "ValueError: Expected more than 1 value per channel when training, got input size torch.Size([1, 64])"
    ),
    "ValueError: batch_size should be a positive integer value, but got batch_size=0",
    "RuntimeError: weight should contain 64 elements not 0",
]
