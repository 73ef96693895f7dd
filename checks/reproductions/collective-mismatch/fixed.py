"""Rank 0 alone reduces its validation loss: its next collective meets another one of the other ranks."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import datetime

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=10))
rank = dist.get_rank()
validation = torch.ones(4096)
dist.all_reduce(validation)
if rank == 0:
    print(validation.mean())
gradient = torch.ones(4)
dist.all_reduce(gradient)
print("trained")
dist.destroy_process_group()
