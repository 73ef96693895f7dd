"""device_ids on the CPU."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import datetime

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
rank = dist.get_rank()
torch.manual_seed(0)

model = DistributedDataParallel(nn.Linear(8, 8), device_ids=[rank])
for step in range(3):
    loss = model(torch.randn(4, 8)).square().mean()
    loss.backward()

same = [torch.empty_like(next(model.parameters())) for _ in range(dist.get_world_size())]
dist.all_gather(same, next(model.parameters()).detach())
assert torch.equal(*same), "the ranks have different weights"
print("trained")
dist.destroy_process_group()
