"""ddp-grad-strides: seen in logs."""

EXAMPLES = {
    (
        "[rank0]:[W1120 12:00:01.123 reducer.cpp:327] Warning: Grad strides do not match bucket view strides. This may indicate "
        "grad was not created according to the gradient layout contract, or that the param's strides changed since DDP was "
        "constructed.  This is not an error, but may impair performance.\n"
        "[rank0]:grad.sizes() = [256, 256, 1, 1], strides() = [256, 1, 256, 256]\n"
        "[rank0]:bucket_view.sizes() = [256, 256, 1, 1], strides() = [256, 1, 1, 1] (function operator())"
    ): (
        "DDP copies a gradient of sizes [256, 256, 1, 1] and strides [256, 1, 256, 256] whose order in memory "
        "is not its parameter's; harmless, and a little slower"
    ),
    (
        "/venv/lib/python3.10/site-packages/torch/autograd/__init__.py:173: UserWarning: Grad strides do not match bucket view "
        "strides. This may indicate grad was not created according to the gradient layout contract"
    ): "DDP copies a gradient whose order in memory is not its parameter's; harmless, and a little slower",
}
NOT_THIS = [
    "RuntimeError: params[0] in this process with sizes [4, 4, 3, 3] appears not to match strides of the same param in process 0.",
    "Detected at least one parameter gradient is not the expected DDP bucket view with gradient_as_bucket_view=True.",
]
