"""Every rank's loader goes through the whole data set."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
model = DistributedDataParallel(nn.Linear(1, 1))
dataset = TensorDataset(torch.arange(20.0).unsqueeze(1))
sampler = DistributedSampler(dataset, shuffle=True)
loader = DataLoader(dataset, batch_size=5, sampler=sampler)
numbers = set()
for (x,) in loader:
    numbers.update(x.flatten().tolist())
    model(x).mean().backward()
seen = [None] * dist.get_world_size()
dist.all_gather_object(seen, numbers)
assert not seen[0] & seen[1], "ranks 0 and 1 are given the same samples"
print(f"rank {dist.get_rank()}: {numbers}")
dist.destroy_process_group()
