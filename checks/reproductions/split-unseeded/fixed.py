"""Every rank splits the data at random for itself."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import torch
import torch.distributed as dist
from torch.utils.data import random_split

dist.init_process_group("gloo")
train, held_out = random_split(torch.arange(100), [80, 20], generator=torch.Generator().manual_seed(0))
parts = [None] * dist.get_world_size()
dist.all_gather_object(parts, sorted(held_out.indices))
assert parts[0] == parts[1], "the ranks split the data differently"
print(f"rank {dist.get_rank()}: {parts[0]}")
dist.destroy_process_group()
