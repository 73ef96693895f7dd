"""A batch of one sample is divided over two ranks."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

BATCH = 1  # samples, of all ranks together

dist.init_process_group("gloo")
data = TensorDataset(torch.randn(8, 4))
size = BATCH // dist.get_world_size()
for (batch,) in DataLoader(data, batch_size=size, sampler=DistributedSampler(data)):
    dist.all_reduce(batch.mean())
print(f"rank {dist.get_rank()}: trained")
dist.destroy_process_group()
