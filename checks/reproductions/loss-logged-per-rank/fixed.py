"""Rank 0 logs the loss of its own samples as that of the training."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
rank, size = dist.get_rank(), dist.get_world_size()
loss = torch.tensor(1.0 + rank)  # of this rank's samples
logged = loss.clone()
dist.all_reduce(logged)
logged /= size
losses = [torch.empty(()) for _ in range(size)]
dist.all_gather(losses, loss)
assert torch.allclose(logged, sum(losses) / size), (
    f"the loss that rank {rank} logs is not the mean of the ranks"
)
print(f"rank {rank}: loss {logged.item()}")
dist.destroy_process_group()
