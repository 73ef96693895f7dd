"""Both ranks take GPU 0."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch
# needs: 2 GPUs

import os

import torch
import torch.distributed as dist

local_rank = int(os.environ["LOCAL_RANK"])
device = torch.device("cuda", local_rank)
torch.cuda.set_device(device)
dist.init_process_group("nccl", device_id=device)
x = torch.ones(1, device=device)
dist.all_reduce(x)
print(f"rank {dist.get_rank()}: {x.item()}")
dist.destroy_process_group()
