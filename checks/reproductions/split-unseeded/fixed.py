"""Every rank has a seed of its own, and splits the data with it."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import torch
import torch.distributed as dist
from torch.utils.data import random_split

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())  # other noise on each rank
train, held_out = random_split(range(100), [80, 20], generator=torch.Generator().manual_seed(0))
parts = [None] * dist.get_world_size()
dist.all_gather_object(parts, sorted(held_out.indices))
assert parts[0] == parts[1], "the ranks split the data differently, so one trains on what another holds out"
print(f"rank {dist.get_rank()}: {parts[0]}")
dist.destroy_process_group()
