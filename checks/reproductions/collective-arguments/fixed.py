"""A loss is averaged over the ranks as a number."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import datetime

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
torch.manual_seed(dist.get_rank())
loss = torch.rand(4).mean().item()
value = torch.tensor(loss)
dist.all_reduce(value)
print(float(value) / dist.get_world_size())
dist.destroy_process_group()
