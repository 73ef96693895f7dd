"""A loss is averaged over the ranks as a number."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import datetime

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
torch.manual_seed(dist.get_rank())
loss = torch.rand(4).mean().item()
dist.all_reduce(loss)
print(float(loss) / dist.get_world_size())
dist.destroy_process_group()
