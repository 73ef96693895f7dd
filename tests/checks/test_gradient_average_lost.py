"""gradient-average-lost: seen in a script, and in logs."""

FLAGGED = [
    """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
net = torch.nn.Linear(2, 2)
net(torch.rand(2, 2)).sum().backward()
for weight in filter(lambda w: w.grad is not None, net.parameters()):
    dist.all_reduce(weight.grad)
    weight.grad.div(dist.get_world_size())  # <-
torch.optim.SGD(net.parameters(), 0.1).step()
dist.destroy_process_group()
""",
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
    """
import torch
import torch.distributed as dist

dist.init_process_group("gloo")
net = torch.nn.Linear(2, 2)
net(torch.rand(2, 2)).sum().backward()
for weight in net.parameters():
    dist.all_reduce(weight.grad)
    weight.grad = weight.grad.div(dist.get_world_size())
torch.optim.SGD(net.parameters(), 0.1).step()
dist.destroy_process_group()
""",
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
