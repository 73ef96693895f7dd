"""The model changes its type after it was wrapped, and DDP's hooks are lost."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = nn.Linear(8, 2)
model = model.to(torch.float64)  # .to(device) has the same effect
model = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(dist.get_rank())  # other samples on each rank
model(torch.randn(4, 8, dtype=torch.float64)).square().mean().backward()
optimizer.step()
parts = [torch.empty_like(model.module.weight) for _ in range(dist.get_world_size())]
dist.all_gather(parts, model.module.weight.detach())
assert torch.equal(parts[0], parts[1]), "DDP no longer sums the gradients of these parameters"
print(f"rank {dist.get_rank()}: trained")
dist.destroy_process_group()
