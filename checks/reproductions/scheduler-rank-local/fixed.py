"""Each rank lowers its learning rate by its own validation loss."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.1)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0)
dataset = TensorDataset(torch.tensor([1.0, 0.0]))  # the samples of rank 0 get better, those of rank 1 do not
loader = DataLoader(dataset, sampler=DistributedSampler(dataset, shuffle=False))
for epoch in range(3):
    for (x,) in loader:
        loss = x.mean() * (3 - epoch)
        dist.all_reduce(loss)
        loss /= dist.get_world_size()
        scheduler.step(loss.item())
rates = [None] * dist.get_world_size()
dist.all_gather_object(rates, optimizer.param_groups[0]["lr"])
assert rates[0] == rates[1], f"the ranks have different learning rates: {rates}"
print(f"rank {dist.get_rank()}: {rates}")
dist.destroy_process_group()
