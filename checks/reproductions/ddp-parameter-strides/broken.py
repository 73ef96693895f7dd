"""One rank alone turns the model to channels_last."""
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

model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 1), nn.Flatten(), nn.Linear(288, 2))
if rank == 1:
    model = model.to(memory_format=torch.channels_last)
model = DistributedDataParallel(model)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = model(torch.randn(4, 3, 8, 8)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

same = [torch.empty_like(next(model.parameters())) for _ in range(dist.get_world_size())]
dist.all_gather(same, next(model.parameters()).detach())
assert torch.equal(*same), "the ranks have different weights"
print("trained")
dist.destroy_process_group()
