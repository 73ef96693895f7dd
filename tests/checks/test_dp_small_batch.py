"""dp-small-batch: seen in logs."""

CAUGHT = """TypeError: Caught TypeError in replica 3 on device 3.
Original Traceback (most recent call last):
  File "/opt/conda/lib/python3.9/site-packages/torch/nn/parallel/parallel_apply.py", line 61, in _worker
    output = module(*input, **kwargs)
"""
MESSAGE = "the batch gave replica 3 too small a piece or none"
EXAMPLES = {
    CAUGHT + "TypeError: forward() missing 1 required positional argument: 'x'": MESSAGE,
    CAUGHT + "TypeError: Net.forward() missing 2 required positional arguments: 'x' and 'mask'": MESSAGE,
    CAUGHT.replace("TypeError", "IndexError") + "IndexError: tuple index out of range": MESSAGE,
    """ValueError: Caught ValueError in replica 1 on device 1.
Original Traceback (most recent call last):
ValueError: Expected more than 1 value per channel when training, got input size torch.Size([1, 64])""": (
        "the batch gave replica 1 too small a piece or none"
    ),
    "AssertionError: The number of modules 4 is not equal to the number of inputs 3": (
        "the batch gave too small a piece or none: 3 pieces for 4 replicas"
    ),
    """  File "/opt/conda/lib/python3.6/site-packages/torch/nn/parallel/parallel_apply.py", line 30, in parallel_apply
    assert len(modules) == len(inputs)
AssertionError""": "the batch gave too small a piece or none",
    """  File "/opt/conda/lib/python3.9/site-packages/torch/nn/parallel/scatter_gather.py", line 44, in scatter
RuntimeError: chunk expects at least a 1-dimensional tensor""": "the batch gave too small a piece or none",
}
NOT_THIS = [
    "TypeError: forward() missing 1 required positional argument: 'x'",
    CAUGHT.replace("3", "0") + "TypeError: forward() missing 1 required positional argument: 'x'",
    "ValueError: Expected more than 1 value per channel when training, got input size torch.Size([1, 64])",
    "IndexError: list index out of range",
]
