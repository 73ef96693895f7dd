"""gradient-average-lost: seen in a script, and in logs."""

FLAGGED = [
    ("average.py", {"        parameter.grad.data /= size\n": "        parameter.grad.data / size  # <-\n"}),
    """
import os
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

def sync(model, world_size):
    for p in model.parameters():
        if p.grad is not None:
            dist.all_reduce(p.grad)
            p.grad / world_size  # <-
""",
]
FINE = [
    ("average.py", {"        parameter.grad.data /= size\n": "        parameter.grad.data.div_(size)\n"}),
    """
import torch
x = torch.ones(1)
x / 2
y = x / 2
""",
]
EXAMPLES = {
    "[rank0]: AssertionError: the gradients are a sum over the ranks, not their mean": "the gradients are a sum over the ranks, not their mean: the step is as many times too long as there are ranks"
}
NOT_THIS = ["the gradients are the mean over the ranks"]
