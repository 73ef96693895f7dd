"""The backward pass before the step stands inside of no_sync, too."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
model = DistributedDataParallel(nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
dataset = TensorDataset(torch.arange(64.0).reshape(8, 8))
loader = DataLoader(dataset, batch_size=1, sampler=DistributedSampler(dataset, shuffle=False))
for number, (x,) in enumerate(loader):
    with model.no_sync():
        model(x).mean().backward()
    if number % 2 == 1:
        optimizer.step()
        optimizer.zero_grad()
parts = [torch.empty_like(model.module.weight) for _ in range(dist.get_world_size())]
dist.all_gather(parts, model.module.weight.detach())
assert torch.equal(parts[0], parts[1]), "the ranks stepped with gradients that were not summed"
print(f"rank {dist.get_rank()}: trained")
dist.destroy_process_group()
