"""Ask for the nccl backend in a build of torch that does not contain NCCL."""
# run: torchrun --standalone --nproc_per_node=2 fixed.py
# needs: CPU build of torch

import datetime

import torch
import torch.distributed as dist

backend = "nccl" if dist.is_nccl_available() else "gloo"
dist.init_process_group(backend, timeout=datetime.timedelta(seconds=10))

weights = torch.zeros(8)
for step in range(3):
    gradient = torch.randn(8)  # each rank's own
    dist.all_reduce(gradient)
    weights -= 0.1 * gradient / dist.get_world_size()
print(f"rank {dist.get_rank()} of {dist.get_world_size()}: trained over {backend}")

dist.destroy_process_group()
