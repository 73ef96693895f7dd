"""A frozen network is wrapped in DDP."""
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

student = DistributedDataParallel(nn.Linear(8, 8))
teacher = nn.Linear(8, 8).eval().requires_grad_(False)
teacher = teacher.eval().requires_grad_(False).to("cpu")
model = student
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    x = torch.randn(4, 8)
    loss = (student(x) - teacher(x)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

same = [torch.empty_like(next(model.parameters())) for _ in range(dist.get_world_size())]
dist.all_gather(same, next(model.parameters()).detach())
assert torch.equal(*same), "the ranks have different weights"
print("trained")
dist.destroy_process_group()
