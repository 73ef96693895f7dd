"""A collective is called, and nobody made the process group."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import torch
import torch.distributed as dist

gradient = torch.ones(1)
dist.all_reduce(gradient)
print(f"rank {dist.get_rank()}: trained")
dist.destroy_process_group()
