"""Rank 1 leaves out a collective in one branch, and rank 0 waits: Python prints where it stands."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import faulthandler

import torch
import torch.distributed as dist

faulthandler.dump_traceback_later(8, exit=True)
dist.init_process_group("gloo")
rank = dist.get_rank()
for step in range(4):
    loss = torch.ones(1)
    if rank == 0 or step < 2:
        dist.all_reduce(loss)
        if rank == 0:
            print(loss.item())
print("rank", rank, "is done")
dist.barrier()
dist.destroy_process_group()
