"""Ask for the nccl backend in a build of torch that does not contain NCCL."""
# run: torchrun --standalone --nproc_per_node=2 broken.py
# needs: CPU build of torch

import datetime

import torch
import torch.distributed as dist
from torch import nn

backend = "nccl"
dist.init_process_group(backend, timeout=datetime.timedelta(seconds=10))

model = nn.parallel.DistributedDataParallel(nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    loss = model(torch.randn(4, 8)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"rank {dist.get_rank()} of {dist.get_world_size()}: trained over {backend}")

dist.destroy_process_group()
