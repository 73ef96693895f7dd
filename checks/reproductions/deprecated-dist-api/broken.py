"""group=0 once meant all ranks."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import datetime

import torch
import torch.distributed as dist

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
rank = dist.get_rank()
torch.manual_seed(0)

tensor = torch.ones(2)
dist.all_reduce(tensor, group=0)
print(tensor)
dist.destroy_process_group()
