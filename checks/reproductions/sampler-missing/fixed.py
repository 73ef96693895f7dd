"""Every rank's loader goes through the whole data set."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

dist.init_process_group("gloo")
dataset = TensorDataset(torch.arange(20))
sampler = DistributedSampler(dataset, shuffle=True)
sampler.set_epoch(0)  # in a training: in every epoch
loader = DataLoader(dataset, batch_size=5, sampler=sampler)
seen = [None] * dist.get_world_size()
dist.all_gather_object(seen, sorted(number for (batch,) in loader for number in batch.tolist()))
assert not set(seen[0]) & set(seen[1]), "ranks 0 and 1 are given the same samples"
print(f"rank {dist.get_rank()}: {seen}")
dist.destroy_process_group()
