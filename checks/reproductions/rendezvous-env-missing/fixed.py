"""Started by plain python instead of torchrun, a script finds no RANK, WORLD_SIZE and MASTER_ADDR to read."""
# run: torchrun --standalone --nproc_per_node=2 fixed.py
# needs: torch

import datetime

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=10))

weights = torch.zeros(8)
for step in range(3):
    gradient = torch.randn(8)  # each rank's own
    dist.all_reduce(gradient)
    weights -= 0.1 * gradient / dist.get_world_size()
print(f"rank {dist.get_rank()} of {dist.get_world_size()}: trained")

dist.destroy_process_group()
