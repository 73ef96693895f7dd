"""Each rank steps with the gradients of its own samples."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.Linear(8, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(dist.get_rank())  # other samples on each rank
for step in range(3):
    optimizer.zero_grad()
    model(torch.randn(4, 8)).square().mean().backward()
    optimizer.step()
parts = [torch.empty_like(model.weight) for _ in range(dist.get_world_size())]
dist.all_gather(parts, model.weight.detach())
assert torch.equal(parts[0], parts[1]), "the ranks trained models of their own"
print(f"rank {dist.get_rank()}: trained")
dist.destroy_process_group()
