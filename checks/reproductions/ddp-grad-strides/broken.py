"""The model's memory format changes after DDP has made its buckets."""
# run: torchrun --standalone --nproc-per-node=2 broken.py
# needs: torch

import warnings

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

warnings.filterwarnings("error", message="(?s).*Grad strides do not match")  # it ends the run here
dist.init_process_group("gloo")
model = nn.Sequential(nn.Conv2d(8, 8, 3), nn.Conv2d(8, 4, 1))
model = DistributedDataParallel(model)
model = model.to(memory_format=torch.channels_last)
x = torch.randn(4, 8, 8, 8).to(memory_format=torch.channels_last)
for step in range(2):
    model(x).square().mean().backward()
print("trained")
dist.destroy_process_group()
