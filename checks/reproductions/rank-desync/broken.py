"""Rank 1 has fewer batches than rank 0, which then waits for it: the sampler must give every rank as many."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import datetime
import time

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Subset, TensorDataset

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=5))
rank, world_size = dist.get_rank(), dist.get_world_size()
dataset = TensorDataset(torch.randn(7, 4))
share = Subset(dataset, range(rank, len(dataset), world_size))
for (batch,) in DataLoader(share, batch_size=1):
    gradient = batch.mean()
    dist.all_reduce(gradient)
print(f"rank {rank}: trained")
time.sleep(0 if rank == 0 else 12)  # rank 1 writes its predictions
dist.destroy_process_group()
