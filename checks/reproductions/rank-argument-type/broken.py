"""The rank comes from the command line, or from the environment, as a text."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import os

import torch
import torch.distributed as dist

rank = os.environ["RANK"]
dist.init_process_group("gloo", rank=rank, world_size=int(os.environ["WORLD_SIZE"]))
gradient = torch.ones(1)
dist.all_reduce(gradient)
print(f"rank {rank}: trained")
dist.destroy_process_group()
