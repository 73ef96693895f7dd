"""A rank ends while another one still waits for what it sent."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import time

import torch
import torch.distributed as dist

dist.init_process_group("gloo")
weights = torch.zeros(1_000_000)
if dist.get_rank() == 1:
    work = dist.isend(weights, dst=0)
else:
    time.sleep(1)  # rank 0 is busy, say with a checkpoint
    dist.recv(weights, src=1)
print(f"rank {dist.get_rank()}: done")
dist.barrier()
dist.destroy_process_group()
