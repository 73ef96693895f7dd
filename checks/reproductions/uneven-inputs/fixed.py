"""The data is cut by hand, and one rank gets fewer batches than the other."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
rank = dist.get_rank()
model = DistributedDataParallel(nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
dataset = TensorDataset(torch.randn(20, 8))
sampler = DistributedSampler(dataset, shuffle=True)
with model.join(throw_on_early_termination=True):  # without it the rank with more batches waits for ever
    for (x,) in DataLoader(dataset, batch_size=2, sampler=sampler):
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
print(f"rank {rank}: trained")
dist.destroy_process_group()
