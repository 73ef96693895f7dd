"""A layer that is defined and not called: DDP waits for its gradients."""
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


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.used = nn.Linear(8, 8)
        self.unused = nn.Linear(8, 8).requires_grad_(False)

    def forward(self, x):
        return self.used(x)


model = Net()
model = DistributedDataParallel(model)
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.1)
for step in range(3):
    loss = model(torch.randn(4, 8)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

same = [torch.empty_like(next(model.parameters())) for _ in range(dist.get_world_size())]
dist.all_gather(same, next(model.parameters()).detach())
assert torch.equal(*same), "the ranks have different weights"
print("trained")
dist.destroy_process_group()
