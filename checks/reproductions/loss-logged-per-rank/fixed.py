"""Rank 0 logs the loss of its own samples as that of the training."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
dataset = TensorDataset(torch.arange(8.0))
loader = DataLoader(dataset, batch_size=2, sampler=DistributedSampler(dataset, shuffle=False))
for (x,) in loader:
    loss = x.mean()
    losses = [torch.empty(()) for _ in range(size)]
    dist.all_gather(losses, loss)
    dist.all_reduce(loss)
    loss /= size
    assert torch.allclose(loss, sum(losses) / size), (
        f"the loss that rank {rank} logs is not the mean of the ranks"
    )
    if rank == 0:
        print("loss:", loss.item())
dist.destroy_process_group()
