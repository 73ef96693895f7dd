"""Rank 0 alone calls a collective."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch
# needs: 2 GPUs

import datetime
import os

import torch
import torch.distributed as dist

local_rank = int(os.environ["LOCAL_RANK"])
device = torch.device("cuda", local_rank)
torch.cuda.set_device(device)

dist.init_process_group("nccl", device_id=device, timeout=datetime.timedelta(seconds=5))
loss = torch.ones(1, device=device)
if dist.get_rank() == 0:
    dist.all_reduce(loss)
    print("loss:", loss.item())
dist.barrier()
dist.destroy_process_group()
