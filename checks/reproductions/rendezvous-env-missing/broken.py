"""Started by plain python instead of torchrun, a script finds no RANK, WORLD_SIZE and MASTER_ADDR to read."""
# run: python broken.py
# needs: torch

import datetime

import torch
import torch.distributed as dist
from torch import nn

dist.init_process_group("gloo", timeout=datetime.timedelta(seconds=10))

model = nn.parallel.DistributedDataParallel(nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = model(torch.randn(4, 8)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"rank {dist.get_rank()} of {dist.get_world_size()}: trained")

dist.destroy_process_group()
