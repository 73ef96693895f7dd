"""A script that was written for torchrun is started as plain Python: nobody makes the process group."""
# run: python broken.py
# needs: torch

import os

import torch
import torch.distributed as dist

if "RANK" in os.environ:  # torchrun
    dist.init_process_group("gloo")
gradient = torch.ones(1)
dist.all_reduce(gradient)
print(f"rank {dist.get_rank()}: trained")
dist.destroy_process_group()
