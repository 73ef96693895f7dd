"""Two losses share one forward pass, and each has its own backward()."""
# run: torchrun --standalone --nproc-per-node=2 fixed.py
# needs: torch

import datetime

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
rank = dist.get_rank()
torch.manual_seed(0)

model = DistributedDataParallel(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 2)))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(rank)
for step in range(3):
    output = model(torch.randn(4, 8))
    loss_a, loss_b = output[:, 0].square().mean(), (output[:, 1] - 1).square().mean()
    optimizer.zero_grad()
    loss = loss_a + loss_b
    loss.backward()
    optimizer.step()

same = [torch.empty_like(next(model.parameters())) for _ in range(dist.get_world_size())]
dist.all_gather(same, next(model.parameters()).detach())
assert torch.equal(*same), "the ranks have different weights"
print("trained")
dist.destroy_process_group()
