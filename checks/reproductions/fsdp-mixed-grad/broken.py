"""FSDP on a frozen backbone beside a trained head."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import datetime

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=20))
rank = dist.get_rank()
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8)) for _ in range(2))
        for block in self.blocks:
            block[0].requires_grad_(False)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


model = Net()
model = FullyShardedDataParallel(model, device_id=torch.device("cpu"))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = model(torch.randn(4, 8)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("trained")
dist.destroy_process_group()
