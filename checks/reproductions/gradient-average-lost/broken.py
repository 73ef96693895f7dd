"""The sum of the gradients is divided, and the quotient is thrown away."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
model = nn.Linear(8, 1, bias=False)
model(torch.ones(1, 8)).sum().backward()  # the same sample on each rank: the mean is the gradient of one
for parameter in model.parameters():
    dist.all_reduce(parameter.grad)
    parameter.grad / dist.get_world_size()
assert torch.equal(model.weight.grad, torch.ones(1, 8)), (
    "the gradients are a sum over the ranks, not their mean"
)
print(f"rank {dist.get_rank()}: averaged")
dist.destroy_process_group()
