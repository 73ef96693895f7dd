"""The last backward pass before the step stands inside of no_sync, too."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(dist.get_rank())  # other samples on each rank
batches = torch.randn(4, 4, 8)
with model.no_sync():
    for x in batches:
        model(x).square().mean().backward()
optimizer.step()
parts = [torch.empty_like(model.module.weight) for _ in range(dist.get_world_size())]
dist.all_gather(parts, model.module.weight.detach())
assert torch.equal(parts[0], parts[1]), "the ranks stepped with gradients that were not summed"
print(f"rank {dist.get_rank()}: trained")
dist.destroy_process_group()
