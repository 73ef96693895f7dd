"""Every rank's loader goes through the whole data set."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, TensorDataset

dist.init_process_group("gloo")
dataset = TensorDataset(torch.arange(20))
loader = DataLoader(dataset, batch_size=5, shuffle=True)
seen = [None] * dist.get_world_size()
dist.all_gather_object(seen, sorted(number for (batch,) in loader for number in batch.tolist()))
assert not set(seen[0]) & set(seen[1]), "ranks 0 and 1 are given the same samples"
print(f"rank {dist.get_rank()}: {seen}")
dist.destroy_process_group()
